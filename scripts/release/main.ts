/**
 * Builds the parts of a release into `dist/release`, with a file of checksums:
 *
 *     npm run release                                    everything
 *     npm run release -- libraries command               some parts
 *     npm run release -- image --output /tmp/capstan     to another folder
 *
 * `schemas` keeps the schemas of this release in the repository: later ones must accept the objects that are stored with them.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { recordSchemas } from '../generate/record.ts';
import { packChart } from './chart.ts';
import { writeImage } from './image/image.ts';
import { bundle, packCommand } from './npm/command.ts';
import { packLibraries } from './npm/libraries.ts';
import { releaseDirectory, root } from './place.ts';

const parts: Readonly<Record<string, (output: string) => void>> = {
  schemas: recordSchemas,
  libraries: packLibraries,
  command: packCommand,
  chart: packChart,
  unit: (output) => copyFileSync(join(root, 'deploy/systemd/capstan.service'), join(output, 'capstan.service')),
  image: (output) => {
    bundle();
    writeImage(output);
  },
};

const { values, positionals } = parseArgs({ options: { output: { type: 'string' } }, allowPositionals: true });
const unknown = positionals.find((name) => !Object.hasOwn(parts, name));
if (unknown === undefined) {
  const output = resolve(values.output ?? releaseDirectory);
  // A folder named by the caller may contain other files.
  if (values.output === undefined) rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  for (const name of positionals.length > 0 ? positionals : Object.keys(parts)) parts[name]!(output);
  writeChecksums(output);
} else {
  process.stderr.write(`release: expected some of ${Object.keys(parts).join(', ')}, found "${unknown}"\n`);
  process.exitCode = 2;
}

/** In the format of `sha256sum --check`. */
function writeChecksums(output: string): void {
  const lines = readdirSync(output)
    .filter((name) => /^capstan[-.]/.test(name))
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(output, name)))
          .digest('hex')}  ${name}\n`,
    );
  writeFileSync(join(output, 'SHA256SUMS'), lines.join(''));
  process.stdout.write(`${lines.join('')}in ${output}\n`);
}

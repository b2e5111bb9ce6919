/**
 * Writes the files that are derived from the definitions of kinds:
 *
 *     npm run generate              writes them
 *     npm run generate -- --check   says which are stale, and refuses schemas that break what was released
 */
import { parseArgs } from 'node:util';
import { definedKinds } from '@capstan/api';
import { staleFiles, writeFolders } from './folders.ts';
import { generatedFolders, outputs } from './outputs.ts';
import { brokenPromises, lastRelease, releasedFolder, schemasOf } from './released.ts';

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const files = outputs(definedKinds);

if (values.check) {
  const stale = staleFiles(generatedFolders, files);
  const last = lastRelease();
  const broken =
    last === undefined
      ? [`${releasedFolder} has no schemas to compare with; run \`npm run release -- schemas\``]
      : brokenPromises(last.schemas, schemasOf(definedKinds));
  for (const line of stale) process.stdout.write(`${line}; run \`npm run generate\`\n`);
  for (const line of broken) process.stdout.write(`${line}\n`);
  if (last !== undefined && broken.length > 0)
    process.stdout.write(
      `Objects stored by release ${last.version} would break. Keep the old schema and add optional fields, or add a version.\n`,
    );
  process.exitCode = stale.length + broken.length === 0 ? 0 : 1;
} else {
  writeFolders(generatedFolders, files);
}

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../place.ts';

/** The fields that every `package.json` of this project has in common. */
export const common = { license: 'Apache-2.0', type: 'module', engines: { node: '>=20' } } as const;

/**
 * Adds the manifest, the license and the README to a folder and packs it. Returns the path of the tarball. The same contents produce the
 * same bytes.
 */
export function pack(folder: string, manifest: object, { readme, output }: { readonly readme: string; readonly output: string }): string {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(root, readme), join(folder, 'README.md'));
  mkdirSync(output, { recursive: true });
  const said = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', output], {
    cwd: folder,
    encoding: 'utf8',
  });
  return join(output, said.trim().split('\n').at(-1)!);
}

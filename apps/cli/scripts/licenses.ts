import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The licenses of the bundled packages, which must be distributed with the code. */
export function licensesOf(modules: Iterable<string>): string {
  const folders = new Set<string>();
  for (const module of modules) {
    const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(module)?.[0];
    if (folder !== undefined) folders.add(folder);
  }
  return [...folders]
    .map(licenseOf)
    .sort()
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${folder} is bundled but has no license file; expected one because its license is "${license}"`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

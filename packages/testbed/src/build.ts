import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { output } from './command.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Rebuilds the `capstan` bundle if a source is newer: tests run what users run, and never an outdated bundle. */
export async function buildCapstan(): Promise<void> {
  const built = statSync(join(root, 'apps/cli/dist/lib/main.js'), { throwIfNoEntry: false });
  const sources = ['apps/cli', ...readdirSync(join(root, 'packages')).map((name) => join('packages', name))].map((name) =>
    join(root, name, 'src'),
  );
  if (built !== undefined && !sources.some((folder) => hasNewer(folder, built.mtimeMs))) return;
  await output(process.execPath, [join(root, 'apps/cli/scripts/build.ts')]);
}

function hasNewer(folder: string, than: number): boolean {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).some(
    (entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > than,
  );
}

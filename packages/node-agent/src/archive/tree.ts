import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Entry } from './tar.ts';

/** A file of this machine as an entry. Links are followed, and the executable bit is kept. */
export function fileEntry(source: string, path: string): Entry {
  const executable = (statSync(source).mode & 0o111) !== 0;
  return { path, type: 'file', mode: executable ? 0o755 : 0o644, content: readFileSync(source) };
}

/** All files below a folder of this machine as entries below `path`. */
export function treeEntries(source: string, path: string): Entry[] {
  return readdirSync(source, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => fileEntry(name, join(path, relative(source, name))));
}

export function textEntry(path: string, content: string): Entry {
  return { path, type: 'file', content: Buffer.from(content) };
}

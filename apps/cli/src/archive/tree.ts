import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import type { ArchiveEntry } from './entry.ts';

/** A file, or a folder and everything in it. Paths begin with the name of the file or folder. Sockets, devices and pipes are left out. */
export function treeOf(folder: string, name: string): ArchiveEntry[] {
  const at = Buffer.from(`${folder}/${name}`, 'latin1');
  const found = lstatSync(at);
  const common = { path: name, mode: found.mode & 0o777, modified: Math.floor(found.mtimeMs / 1000), size: 0 };
  if (found.isSymbolicLink()) return [{ ...common, type: 'link', target: readlinkSync(at, { encoding: 'buffer' }).toString('latin1') }];
  if (found.isFile()) return [{ ...common, type: 'file', size: found.size }];
  if (!found.isDirectory()) return [];
  const names = readdirSync(at, { encoding: 'buffer' }).map((one) => one.toString('latin1'));
  return [
    { ...common, type: 'folder' },
    ...names.sort((one, other) => (one < other ? -1 : 1)).flatMap((one) => treeOf(folder, `${name}/${one}`)),
  ];
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { JsonObject } from '@capstan/machinery/objects';

export const root = resolve(import.meta.dirname, '../..');

/** Makes these folders contain exactly these files. */
export function writeFolders(folders: readonly string[], files: ReadonlyMap<string, string>, base = root): void {
  for (const path of presentIn(folders, base)) if (!files.has(path)) rmSync(join(base, path));
  for (const folder of folders)
    if (existsSync(join(base, folder)) && readdirSync(join(base, folder)).length === 0) rmdirSync(join(base, folder));
  for (const [path, text] of files) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
}

/** One sentence for each file that is not as it would be written. */
export function staleFiles(folders: readonly string[], files: ReadonlyMap<string, string>, base = root): string[] {
  const unexpected = presentIn(folders, base).filter((path) => !files.has(path));
  const different = [...files].filter(([path, text]) => !existsSync(join(base, path)) || readFileSync(join(base, path), 'utf8') !== text);
  return [
    ...unexpected.map((path) => `${path} is generated from no definition`),
    ...different.map(([path]) => `${path} differs from what its definition gives`),
  ];
}

/** The JSON files of a folder, by name. */
export function jsonFiles(folder: string, base = root): ReadonlyMap<string, JsonObject> {
  return new Map(
    presentIn([folder], base).map((path) => [
      path.slice(folder.length + 1),
      JSON.parse(readFileSync(join(base, path), 'utf8')) as JsonObject,
    ]),
  );
}

/** The names of the folders in a folder. */
export function foldersIn(folder: string, base = root): string[] {
  if (!existsSync(join(base, folder))) return [];
  const entries = readdirSync(join(base, folder), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

function presentIn(folders: readonly string[], base: string): string[] {
  return folders.flatMap((folder) =>
    existsSync(join(base, folder))
      ? readdirSync(join(base, folder))
          .sort()
          .map((name) => `${folder}/${name}`)
      : [],
  );
}

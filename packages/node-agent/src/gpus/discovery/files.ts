import { access, constants, readdir, readFile, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The path of a program in PATH or one of the given folders; undefined if it is not installed. */
export async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

export function searchPath(...more: readonly string[]): string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), ...more];
}

/** The names in a folder, sorted; none if it does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}

/** The text of a small file; empty if it cannot be read. */
export async function textIn(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return '';
  }
}

import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Creates a directory and its parents, and returns those that were missing, outermost first. Node's own recursive mkdir never returns on
 * file systems that reject directories, such as /proc.
 */
export function makeDirectory(directory: string): string[] {
  try {
    mkdirSync(directory, { mode: 0o700 });
    return [directory];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isDirectory(directory)) return [];
    const parent = path.dirname(directory);
    if (code !== 'ENOENT' || parent === directory || isDirectory(parent)) throw error;
    return [...makeDirectory(parent), ...makeDirectory(directory)];
  }
}

function isDirectory(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

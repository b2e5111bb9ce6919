import type { DatabaseSync } from 'node:sqlite';
import { readPragma } from './database.ts';

/** Checking a larger file would delay the start: there only the keys are checked, and values when they are read. */
const fullCheckBytes = 64 * 1024 * 1024;

/** Looks for structural damage. Returns it as an error; undefined if the file is sound. */
export function findDamage(database: DatabaseSync): Error | undefined {
  try {
    const bytes = readPragma(database, 'page_count') * readPragma(database, 'page_size');
    const scope = bytes > fullCheckBytes ? '(current)' : '';
    const row = database.prepare(`PRAGMA quick_check${scope}`).get();
    const verdict = row === undefined ? 'no answer' : String(Object.values(row)[0]);
    return verdict === 'ok' ? undefined : new DamagedFileError(verdict.replace(/\s+/g, ' '));
  } catch (error) {
    return error instanceof Error ? error : new DamagedFileError(String(error));
  }
}

/** The structure of the file is broken. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { SnapshotInfo } from '../contract.ts';
import { readNumber } from './database.ts';

/** Writes a compact copy of the database to `file`, which either becomes complete or is not created at all. */
export function writeSnapshot(database: DatabaseSync, file: string, revision: number): SnapshotInfo {
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    database.prepare('VACUUM INTO ?').run(partial);
    syncPath(partial);
    renameSync(partial, file);
    syncPath(path.dirname(file));
  } finally {
    if (existsSync(partial)) rmSync(partial);
  }
  return { revision, keys: readNumber(database, 'SELECT count(*) FROM current'), bytes: statSync(file).size };
}

export function syncPath(file: string): void {
  const descriptor = openSync(file, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

import { copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type SnapshotInfo, StoreError } from '../contract.ts';
import { databaseFile, openDatabase, readNumber } from './database.ts';
import { toStoreError } from './errors.ts';
import { describeFailure } from './failures.ts';
import { findDamage } from './integrity.ts';
import { Reader } from './reader.ts';
import { syncPath } from './snapshot.ts';

/** Creates a store from a snapshot that `Store.snapshot` of the SQLite driver wrote. The directory must be empty or missing. */
export async function restoreSqliteSnapshot(file: string, directory: string): Promise<SnapshotInfo> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const present = await readdir(directory);
  if (present.length > 0) {
    throw new StoreError(
      'exists',
      `${directory} is not empty (it contains ${present[0]}): restore into an empty directory, then point the server at it`,
    );
  }
  const partial = path.join(directory, `${databaseFile}.partial`);
  try {
    await copyFile(file, partial);
    const info = { ...verify(partial, file), bytes: (await stat(partial)).size };
    syncPath(partial);
    await rename(partial, path.join(directory, databaseFile));
    syncPath(directory);
    return info;
  } finally {
    for (const left of [partial, `${partial}-wal`]) await rm(left, { force: true });
  }
}

/** Reads everything once, to find a damaged value now and not in production. Messages name the file that the user gave. */
function verify(copy: string, file: string): Omit<SnapshotInfo, 'bytes'> {
  try {
    const { database, revision } = openDatabase(copy);
    try {
      const damage = findDamage(database);
      if (damage !== undefined) throw damage;
      new Reader(database).verify();
      return { revision, keys: readNumber(database, 'SELECT count(*) FROM current') };
    } finally {
      database.close();
    }
  } catch (error) {
    throw toStoreError({
      ...describeFailure(error, file),
      message: `${file} cannot be restored: ${reason(error)}. Nothing was changed; use another snapshot`,
    });
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

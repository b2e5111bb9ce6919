import { DatabaseSync } from 'node:sqlite';

/*
 * Tables.
 *
 *   log      one row per revision, appended and never changed: a value is written once. `previous` is the revision that the row replaced, 0
 * if the
 *            key did not exist; `created` is the revision at which the key was created. A deletion has no value.
 *   current  the keys that exist, pointing into the log.
 *   meta     `floor`: no revision up to it is ever used again; `compacted`: history up to it is forgotten; `swept`: up to which revision
 * the rows
 *            that compaction made superfluous are deleted.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    value TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS current (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO meta VALUES ('floor', 1), ('compacted', 0), ('swept', 0);
`;

/** Marks the file as ours, so that another application's database is never written to. */
const applicationId = 0x43615073;
const schemaVersion = 1;

export const databaseFile = 'store.db';
/** Small pages: a write to a random key costs one of them in the log. */
export const pageBytes = 4096;

export interface DatabaseState {
  readonly database: DatabaseSync;
  readonly revision: number;
  readonly compacted: number;
  readonly swept: number;
}

/** Opens or creates the file and locks it. The kernel releases the lock when the process dies, for whatever reason. */
export function openDatabase(file: string): DatabaseState {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // The exclusive lock also keeps the WAL index in memory instead of a shared file.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    // On an existing file this would write, and so fail on a full disk that can still be read.
    if (readPragma(database, 'page_count') === 0) database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL`);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0');
    database.exec('PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY');
    claimFile(database, file);
    return { database, ...readState(database) };
  } catch (error) {
    database.close();
    throw error;
  }
}

function claimFile(database: DatabaseSync, file: string): void {
  const owner = readPragma(database, 'application_id');
  const version = readPragma(database, 'user_version');
  if (owner === applicationId && version === schemaVersion) return;
  const isEmpty = readNumber(database, 'SELECT count(*) FROM sqlite_schema') === 0;
  if (owner !== applicationId && !isEmpty) {
    throw new Error(`${file} is a database of another application; expected a Capstan store or an empty directory`);
  }
  if (version > schemaVersion) {
    throw new Error(
      `${file} has format ${version}, but this version of Capstan supports formats up to ${schemaVersion}: use the newer version that wrote it`,
    );
  }
  database.exec(`BEGIN IMMEDIATE; ${schema} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}; COMMIT;`);
}

function readState(database: DatabaseSync): Omit<DatabaseState, 'database'> {
  const newest = readNumber(database, 'SELECT max(revision) FROM log');
  const floor = readNumber(database, "SELECT value FROM meta WHERE name = 'floor'");
  return {
    revision: Math.max(newest, floor),
    compacted: readNumber(database, "SELECT value FROM meta WHERE name = 'compacted'"),
    swept: readNumber(database, "SELECT value FROM meta WHERE name = 'swept'"),
  };
}

export function readPragma(database: DatabaseSync, name: string): number {
  return readNumber(database, `PRAGMA ${name}`);
}

/** The first column of the first row as a number; 0 if there is none. */
export function readNumber(database: DatabaseSync, sql: string): number {
  const row = database.prepare(sql).get();
  return row === undefined ? 0 : Number(Object.values(row)[0] ?? 0);
}

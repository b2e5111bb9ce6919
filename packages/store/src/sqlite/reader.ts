import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checksum, DamagedRowError } from './checksum.ts';
import type { HistoryRows, Rows } from './messages.ts';

export interface RangeAt {
  readonly start: string;
  readonly end: string;
  /** 0 for the newest. */
  readonly revision: number;
  /** 0 for all. */
  readonly limit: number;
}

export interface HistoryChunk {
  readonly rows: HistoryRows;
  /** Everything up to this revision was returned. */
  readonly through: number;
}

const rowsPerChunk = 500;
const charactersPerChunk = 2 * 1024 * 1024;
/** A watch on few keys scans many rows of others: it stops here, so that writers get their turn. */
const revisionsPerChunk = 5_000;

export class Reader {
  readonly #statements: Statements;

  constructor(database: DatabaseSync) {
    this.#statements = prepare(database);
  }

  get(key: string): Rows {
    const rows = emptyRows();
    const row = this.#statements.get.get(key);
    if (row !== undefined) addRow(rows, row);
    return rows;
  }

  /**
   * Passes entries to `give` in chunks, so that a long list is never in the worker's memory as a whole. Returns how many keys follow the
   * last entry.
   */
  list(range: RangeAt, give: (rows: Rows) => void): number {
    const limit = range.limit === 0 ? -1 : range.limit;
    const found =
      range.revision === 0
        ? this.#statements.list.iterate(range.start, range.end, limit)
        : this.#statements.listAt.iterate({ start: range.start, end: range.end, revision: range.revision, limit });
    let rows = emptyRows();
    let characters = 0;
    let count = 0;
    for (const row of found) {
      characters += addRow(rows, row);
      count++;
      if (rows.keys.length === rowsPerChunk || characters > charactersPerChunk) {
        give(rows);
        rows = emptyRows();
        characters = 0;
      }
    }
    if (rows.keys.length > 0) give(rows);
    return count === limit ? this.#count(range) - count : 0;
  }

  #previous(revision: number, key: string): Record<string, unknown> {
    const row = this.#statements.at.get(revision);
    if (row === undefined) throw new DamagedRowError(revision, key);
    return row;
  }

  /** Reads every row of the log, and throws at the first that is damaged, or at a current key without a row. */
  verify(): void {
    for (const row of this.#statements.all.iterate()) checkRow(row['revision'] as number, row['key'] as string, row);
    const lost = this.#statements.lost.get();
    if (lost !== undefined) throw new DamagedRowError(lost['revision'] as number, lost['key'] as string);
  }

  #count(range: RangeAt): number {
    const row =
      range.revision === 0
        ? this.#statements.count.get(range.start, range.end)
        : this.#statements.countAt.get({ start: range.start, end: range.end, revision: range.revision });
    return row!['count'] as number;
  }

  /** The next chunk of the history of a range, after a revision and up to `newest`. */
  history(range: { start: string; end: string; after: number; previous: boolean }, newest: number): HistoryChunk {
    const rows: HistoryRows = { ...emptyRows(), deleted: [], previousRevisions: [], previousValues: [], previousCreated: [] };
    const through = Math.min(range.after + revisionsPerChunk, newest);
    let characters = 0;
    for (const row of this.#statements.history.iterate(range.after, through, range.start, range.end)) {
      const isDeletion = row['value'] === null;
      if (isDeletion) row['value'] = '';
      characters += addRow(rows, row);
      rows.deleted.push(isDeletion ? 1 : 0);
      const previous = row['previous'] as number;
      const old = range.previous && previous > 0 ? this.#previous(previous, row['key'] as string) : undefined;
      rows.previousRevisions.push(previous);
      rows.previousValues.push(old === undefined ? '' : (old['value'] as string));
      rows.previousCreated.push(old === undefined ? 0 : (old['created'] as number));
      characters += rows.previousValues.at(-1)!.length;
      if (rows.keys.length === rowsPerChunk || characters > charactersPerChunk) return { rows, through: row['revision'] as number };
    }
    return { rows, through };
  }
}

function emptyRows(): Rows {
  return { keys: [], values: [], revisions: [], created: [] };
}

/** Returns the length of the value. */
function addRow(rows: Rows, row: Record<string, unknown>): number {
  const key = row['key'] as string;
  const value = row['value'] as string;
  const revision = row['revision'] as number;
  checkRow(revision, key, row);
  rows.keys.push(key);
  rows.values.push(value);
  rows.revisions.push(revision);
  rows.created.push(row['created'] as number);
  return value.length;
}

function checkRow(revision: number, key: string, row: Record<string, unknown>): void {
  if (checksum(revision, key, (row['value'] as string | null) ?? '') !== row['checksum']) throw new DamagedRowError(revision, key);
}

interface Statements {
  readonly all: StatementSync;
  readonly lost: StatementSync;
  readonly get: StatementSync;
  readonly at: StatementSync;
  readonly list: StatementSync;
  readonly count: StatementSync;
  readonly listAt: StatementSync;
  readonly countAt: StatementSync;
  readonly history: StatementSync;
}

/* The outer join shows a missing row as damaged instead of dropping it. */
const entryColumns = 'c.key, c.revision, l.created, l.checksum, l.value';

/*
 * The keys of a range at an old revision: those unchanged since then, and for the others what their first change since then replaced. Needs
 * no index on (key, revision), which would slow every write. A bare column beside min() comes from the row of the minimum.
 */
const keysAt = `
  WITH undo AS MATERIALIZED (
    SELECT key, min(revision), previous FROM log WHERE revision > :revision AND key >= :start AND key < :end GROUP BY key
  ), past AS (
    SELECT key, revision FROM current WHERE key >= :start AND key < :end AND key NOT IN (SELECT key FROM undo)
    UNION ALL
    SELECT key, previous FROM undo WHERE previous > 0
  )`;

function prepare(database: DatabaseSync): Statements {
  return {
    all: database.prepare('SELECT revision, key, checksum, value FROM log'),
    lost: database.prepare(
      'SELECT c.revision, c.key FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE l.key IS NOT c.key LIMIT 1',
    ),
    get: database.prepare(`SELECT ${entryColumns} FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE c.key = ?`),
    at: database.prepare('SELECT created, value FROM log WHERE revision = ?'),
    list: database.prepare(
      `SELECT ${entryColumns} FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE c.key >= ? AND c.key < ? ORDER BY c.key LIMIT ?`,
    ),
    count: database.prepare('SELECT count(*) AS count FROM current WHERE key >= ? AND key < ?'),
    listAt: database.prepare(
      `${keysAt} SELECT ${entryColumns} FROM (SELECT key, revision FROM past ORDER BY key LIMIT :limit) c
       LEFT JOIN log l ON l.revision = c.revision ORDER BY c.key`,
    ),
    countAt: database.prepare(`${keysAt} SELECT count(*) AS count FROM past`),
    history: database.prepare(
      'SELECT revision, key, created, previous, checksum, value FROM log WHERE revision > ? AND revision <= ? AND key >= ? AND key < ? ORDER BY revision',
    ),
  };
}

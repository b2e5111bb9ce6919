import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { pageBytes, readPragma } from './database.ts';

const rowsPerStep = 200;
const pagesPerStep = 256;
/** Roughly how much of the write-ahead log a step uses. */
export const stepBytes = pagesPerStep * pageBytes;
/** Free pages are kept for future writes, up to this share of the file. */
const freeShare = 0.25;
const freePagesKept = 2_048;

/**
 * Forgets history. The decision is recorded at once; the rows that it makes superfluous (those replaced at or below the revision, and
 * deletions) are deleted in small steps, so that writers never wait long. The steps need no sync of their own: they become durable with the
 * next write, and are repeated if they were lost.
 */
export class Compaction {
  compacted: number;
  #swept: number;
  readonly #database: DatabaseSync;
  readonly #rows: StatementSync;
  readonly #remove: StatementSync;
  readonly #setMeta: StatementSync;

  constructor(database: DatabaseSync, state: { compacted: number; swept: number }) {
    this.#database = database;
    this.compacted = state.compacted;
    this.#swept = state.swept;
    this.#rows = database.prepare(
      'SELECT revision, previous, value IS NULL AS deletion FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?',
    );
    this.#remove = database.prepare('DELETE FROM log WHERE revision = ?');
    this.#setMeta = database.prepare('UPDATE meta SET value = ? WHERE name = ?');
  }

  /** `newest` is stored as the floor of the counter, because the row with that revision may be deleted. */
  compact(revision: number, newest: number): void {
    if (revision <= this.compacted) return;
    this.#transaction(() => {
      this.#setMeta.run(revision, 'compacted');
      this.#setMeta.run(newest, 'floor');
    });
    this.compacted = revision;
  }

  /** A write without effect: throws while the disk rejects writes. */
  touch(): void {
    this.#transaction(() => this.#setMeta.run(this.#swept, 'swept'));
  }

  /** Does a little of the remaining work. Returns whether there is more. */
  step(): boolean {
    this.#database.exec('PRAGMA synchronous = NORMAL');
    try {
      return this.#swept < this.compacted ? this.#sweep() : this.#shrink();
    } finally {
      this.#database.exec('PRAGMA synchronous = FULL');
    }
  }

  #sweep(): boolean {
    const rows = this.#rows.all(this.#swept, this.compacted, rowsPerStep);
    const through = rows.length < rowsPerStep ? this.compacted : (rows.at(-1)!['revision'] as number);
    this.#transaction(() => {
      for (const row of rows) {
        if (row['previous'] !== 0) this.#remove.run(row['previous']!);
        if (row['deletion'] === 1) this.#remove.run(row['revision']!);
      }
      this.#setMeta.run(through, 'swept');
    });
    this.#swept = through;
    return true;
  }

  #shrink(): boolean {
    const free = readPragma(this.#database, 'freelist_count');
    if (free < freePagesKept || free < readPragma(this.#database, 'page_count') * freeShare) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${pagesPerStep})`);
    return true;
  }

  #transaction(work: () => unknown): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}

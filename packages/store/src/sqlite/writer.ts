import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checksum, DamagedRowError } from './checksum.ts';
import { operation, type Refusal, type WriteRequest, type WrittenReply } from './messages.ts';

/** Applies batches of writes, each in one transaction. Owns the revision counter: nothing else in the process assigns revisions. */
export class Writer {
  revision: number;
  readonly #database: DatabaseSync;
  readonly #statements: Statements;

  constructor(database: DatabaseSync, revision: number) {
    this.#database = database;
    this.revision = revision;
    this.#statements = prepare(database);
  }

  /** Rethrows SQLite's errors after rolling back: no operation of the batch then took effect. */
  apply(request: WriteRequest): WrittenReply {
    const before = this.revision;
    const count = request.keys.length;
    const created = Array.from({ length: count }, () => 0);
    const previous = request.previous ? Array.from({ length: count }, () => '') : undefined;
    const refusals: Refusal[] = [];
    let guard = 0;
    this.#statements.begin.run();
    try {
      for (let index = 0; index < count; index++) {
        let isMet = true;
        for (; request.guarded[guard] === index; guard++) isMet &&= this.#isMet(request.guardKeys[guard]!, request.guardRevisions[guard]!);
        const result = isMet ? this.#applyOne(request, index) : 0;
        if (result === 0) {
          refusals.push(this.#refusal(request, index));
          continue;
        }
        created[index] = result;
        if (previous !== undefined && request.operations[index] !== operation.create) {
          previous[index] = this.#valueAt(request.revisions[index]!, request.keys[index]!);
        }
      }
      this.#statements.commit.run();
    } catch (error) {
      this.revision = before;
      if (this.#database.isTransaction) this.#statements.rollback.run();
      throw error;
    }
    return { type: 'written', first: before + 1, created, previous, refusals };
  }

  /** The revision at which the key was created, or 0 if the key was not in the expected state. */
  #applyOne(request: WriteRequest, index: number): number {
    const statements = this.#statements;
    const key = request.keys[index]!;
    const next = this.revision + 1;
    switch (request.operations[index]) {
      case operation.create: {
        if (statements.insertCurrent.run(key, next, next).changes === 0) return 0;
        const value = request.values[index]!;
        statements.append.run(next, key, next, 0, checksum(next, key, value), value);
        this.revision = next;
        return next;
      }
      case operation.update: {
        const expected = request.revisions[index]!;
        const row = statements.updateCurrent.get(next, key, expected);
        if (row === undefined) return 0;
        const value = request.values[index]!;
        const created = row['created'] as number;
        statements.append.run(next, key, created, expected, checksum(next, key, value), value);
        this.revision = next;
        return created;
      }
      default: {
        const expected = request.revisions[index]!;
        const row = statements.deleteCurrent.get(key, expected);
        if (row === undefined) return 0;
        const created = row['created'] as number;
        statements.append.run(next, key, created, expected, checksum(next, key, ''), null);
        this.revision = next;
        return created;
      }
    }
  }

  #isMet(key: string, revision: number): boolean {
    const row = this.#statements.currentEntry.get(key);
    return row !== undefined && (revision === 0 || row['revision'] === revision);
  }

  #refusal(request: WriteRequest, index: number): Refusal {
    const row = this.#statements.currentEntry.get(request.keys[index]!);
    const isCreation = request.operations[index] === operation.create;
    // Creating a missing key can only fail because of a guard.
    if (row === undefined) return { index, code: isCreation ? 'unmet' : 'missing', revision: 0, createRevision: 0, value: '' };
    const revision = row['revision'] as number;
    return {
      index,
      code: isCreation ? 'exists' : 'conflict',
      revision,
      createRevision: row['created'] as number,
      value: this.#valueAt(revision, request.keys[index]!),
    };
  }

  #valueAt(revision: number, key: string): string {
    const value = this.#statements.valueAt.get(revision)?.['value'];
    if (typeof value !== 'string') throw new DamagedRowError(revision, key);
    return value;
  }
}

interface Statements {
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly rollback: StatementSync;
  readonly insertCurrent: StatementSync;
  readonly updateCurrent: StatementSync;
  readonly deleteCurrent: StatementSync;
  readonly append: StatementSync;
  readonly currentEntry: StatementSync;
  readonly valueAt: StatementSync;
}

function prepare(database: DatabaseSync): Statements {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    insertCurrent: database.prepare('INSERT INTO current (key, revision, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'),
    updateCurrent: database.prepare('UPDATE current SET revision = ? WHERE key = ? AND revision = ? RETURNING created'),
    deleteCurrent: database.prepare('DELETE FROM current WHERE key = ? AND revision = ? RETURNING created'),
    append: database.prepare('INSERT INTO log (revision, key, created, previous, checksum, value) VALUES (?, ?, ?, ?, ?, ?)'),
    currentEntry: database.prepare('SELECT revision, created FROM current WHERE key = ?'),
    valueAt: database.prepare('SELECT value FROM log WHERE revision = ?'),
  };
}

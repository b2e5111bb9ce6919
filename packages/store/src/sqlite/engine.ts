import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Compaction, stepBytes } from './compaction.ts';
import { databaseFile, openDatabase, pageBytes } from './database.ts';
import { describeFailure } from './failures.ts';
import { findDamage } from './integrity.ts';
import type { Failure, Reply, Request, WriteRequest } from './messages.ts';
import { describeOwner, forgetOwner, recordOwner } from './owner.ts';
import { Reader } from './reader.ts';
import { writeSnapshot } from './snapshot.ts';
import { Writer } from './writer.ts';

type Send = (reply: Reply) => void;

/**
 * The write-ahead log is copied into the database file at this size: large enough to be rare, small enough to be quick and to stay in the
 * page cache.
 */
const checkpointBytes = 16 * 1024 * 1024;
const probeInterval = 1_000;

/** Answers requests from one open database. Runs in the worker. */
export class Engine {
  readonly #directory: string;
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #writer: Writer;
  readonly #reader: Reader;
  readonly #compaction: Compaction;
  readonly #send: Send;
  #failure: Failure | undefined;
  /** Roughly how many bytes of the write-ahead log are in use; its file never shrinks, so the file size does not tell. */
  #logged = 0;
  #probe: NodeJS.Timeout | undefined;
  #sweep: NodeJS.Immediate | undefined;

  /** Undefined if the database cannot be opened at all, after sending the reason. */
  static open(directory: string, send: Send): Engine | undefined {
    const file = path.join(directory, databaseFile);
    try {
      const engine = new Engine(directory, send);
      recordOwner(directory, new Date());
      send({
        type: 'opened',
        state: { revision: engine.#writer.revision, compacted: engine.#compaction.compacted, failure: engine.#failure },
      });
      return engine;
    } catch (error) {
      const failure = describeFailure(error, file);
      const locked = `${directory} is in use by ${describeOwner(directory)}: only one process can use a store at a time. Stop it, or choose another directory`;
      send({ type: 'refused', failure: failure.code === 'locked' ? { code: 'locked', message: locked } : failure });
      return undefined;
    }
  }

  private constructor(directory: string, send: Send) {
    this.#directory = directory;
    this.#file = path.join(directory, databaseFile);
    this.#send = send;
    const { database, ...state } = openDatabase(this.#file);
    this.#database = database;
    const damage = findDamage(database);
    if (damage !== undefined) this.#failure = describeFailure(damage, this.#file);
    this.#writer = new Writer(database, state.revision);
    this.#reader = new Reader(database);
    this.#compaction = new Compaction(database, state);
    this.#scheduleSweep();
  }

  handle(request: Request): void {
    if (request.type === 'close') this.#close();
    else if (request.type === 'write') this.#write(request);
    else this.#send(this.#answer(request));
  }

  #write(request: WriteRequest): void {
    if (this.#failure?.code === 'corrupt') {
      this.#send({ type: 'unwritten', failure: this.#failure });
      return;
    }
    try {
      const written = this.#writer.apply(request);
      if (this.#failure !== undefined) this.#recovered();
      this.#send(written);
    } catch (error) {
      this.#send({ type: 'unwritten', failure: this.#note(error) });
      return;
    }
    this.#checkpoint(estimateLogged(request));
  }

  #answer(request: Exclude<Request, { type: 'write' | 'close' }>): Reply {
    const { id } = request;
    try {
      switch (request.type) {
        case 'get':
          return { type: 'got', id, rows: this.#reader.get(request.key) };
        case 'list':
          return this.#list(request);
        case 'history':
          return this.#history(request);
        case 'compact':
          this.#compaction.compact(Math.min(request.revision, this.#writer.revision), this.#writer.revision);
          this.#scheduleSweep();
          return { type: 'compacted', id, revision: this.#compaction.compacted };
        case 'snapshot':
          return this.#snapshot(id, request.file);
      }
    } catch (error) {
      return { type: 'failed', id, failure: this.#note(error) };
    }
  }

  #list(request: Extract<Request, { type: 'list' }>): Reply {
    const { id } = request;
    const revision = request.revision === 0 ? this.#writer.revision : request.revision;
    const failure = this.#refuseRevision(revision);
    if (failure !== undefined) return { type: 'failed', id, failure };
    const remaining = this.#reader.list(request, (rows) => this.#send({ type: 'rows', id, rows }));
    return { type: 'listed', id, revision, remaining };
  }

  #history(request: Extract<Request, { type: 'history' }>): Reply {
    const { id } = request;
    const failure = this.#refuseRevision(request.after);
    if (failure !== undefined) return { type: 'failed', id, failure };
    const newest = this.#writer.revision;
    const { rows, through } = this.#reader.history(request, newest);
    return { type: 'events', id, history: rows, through, complete: through === newest };
  }

  /** A problem with the target says nothing about the store itself. */
  #snapshot(id: number, file: string): Reply {
    try {
      return { type: 'snapshotted', id, info: writeSnapshot(this.#database, file, this.#writer.revision) };
    } catch (error) {
      return { type: 'failed', id, failure: describeFailure(error, file) };
    }
  }

  #refuseRevision(revision: number): Failure | undefined {
    const { compacted } = this.#compaction;
    if (revision < compacted) {
      return {
        code: 'compacted',
        message: `revision ${revision} is compacted: history begins at ${compacted}`,
        compactedRevision: compacted,
      };
    }
    const newest = this.#writer.revision;
    if (revision > newest) return { code: 'future', message: `revision ${revision} does not exist yet: the newest is ${newest}` };
    return undefined;
  }

  /** Copies the write-ahead log into the database file, after the writers were answered. A failure loses nothing: the log just grows. */
  #checkpoint(bytes: number): void {
    this.#logged += bytes;
    if (this.#logged < checkpointBytes) return;
    this.#logged = 0;
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch (error) {
      this.#note(error);
    }
  }

  #scheduleSweep(): void {
    this.#sweep ??= setImmediate(() => {
      this.#sweep = undefined;
      if (this.#failure !== undefined) return;
      try {
        if (!this.#compaction.step()) return;
        this.#checkpoint(stepBytes);
        this.#scheduleSweep();
      } catch (error) {
        this.#note(error);
      }
    });
  }

  /** Records what an error means for the file as a whole, and retries later if that can help. */
  #note(error: unknown): Failure {
    const failure = describeFailure(error, this.#file);
    if (failure.code !== 'readonly' && failure.code !== 'corrupt') return failure;
    if (this.#failure?.code !== 'corrupt') this.#changeFailure(failure);
    if (failure.code === 'readonly') this.#probe ??= setInterval(() => this.#tryToWrite(), probeInterval);
    return failure;
  }

  #tryToWrite(): void {
    if (this.#failure?.code === 'corrupt') {
      clearInterval(this.#probe);
      return;
    }
    try {
      this.#compaction.touch();
      // Frees the space that the write-ahead log took while it could not be copied.
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      this.#recovered();
    } catch (error) {
      this.#note(error);
    }
  }

  #recovered(): void {
    clearInterval(this.#probe);
    this.#probe = undefined;
    this.#changeFailure(undefined);
    this.#scheduleSweep();
  }

  #changeFailure(failure: Failure | undefined): void {
    this.#failure = failure;
    this.#send({ type: 'health', failure });
  }

  #close(): void {
    clearInterval(this.#probe);
    clearImmediate(this.#sweep);
    try {
      forgetOwner(this.#directory);
      this.#database.close();
    } finally {
      this.#send({ type: 'closed' });
    }
  }
}

/** Each operation changes a page of `current` and fills part of a page of `log`. */
function estimateLogged(request: WriteRequest): number {
  let bytes = request.keys.length * pageBytes;
  for (const value of request.values) bytes += value.length * 1.25;
  return bytes;
}

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Store, StoreError } from '../contract.ts';
import { makeDirectory } from '../directory.ts';
import { databaseFile, openDatabase, readNumber } from './database.ts';
import { toStoreError } from './errors.ts';
import type { Reply } from './messages.ts';
import { syncPath } from './snapshot.ts';
import { SqliteStore } from './store.ts';

export interface SqliteStoreOptions {
  /** Created if missing. One process at a time. */
  readonly directory: string;
  /** Closes the store. */
  readonly signal?: AbortSignal;
}

/** Rejects with `locked` if another process uses the directory, and with `corrupt` or `readonly` if nothing in it can be read. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { directory, signal } = options;
  signal?.throwIfAborted();
  makeLastingDirectory(path.resolve(directory));
  // A small young generation: the worker's objects die with the batch, and memory once allocated is rarely freed.
  const worker = new Worker(new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url), {
    workerData: { directory },
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const first = await firstReply(worker);
  if (first.type === 'refused') throw toStoreError(first.failure);
  if (first.type !== 'opened') throw new StoreError('unavailable', `the store's thread sent ${first.type} instead of opening ${directory}`);
  const store = new SqliteStore(worker, first.state);
  if (signal?.aborted) await store[Symbol.asyncDispose]();
  signal?.addEventListener('abort', () => void store[Symbol.asyncDispose](), { once: true });
  return store;
}

/** Makes an empty store, which is created if missing, continue after a revision. Rejects with `exists` if it has been written to. */
export async function startRevisionsAfter(directory: string, revision: number): Promise<void> {
  // It finds out whether the directory can be used.
  await (await openSqliteStore({ directory }))[Symbol.asyncDispose]();
  const { database } = openDatabase(path.join(directory, databaseFile));
  try {
    if (readNumber(database, 'SELECT count(*) FROM log') > 0)
      throw new StoreError('exists', `the store in ${directory} is not empty: only an empty one can begin at another revision`);
    database.prepare("UPDATE meta SET value = ? WHERE name = 'floor'").run(revision);
  } finally {
    database.close();
  }
}

/** SQLite syncs the directory of its files; syncing its parents, so that the directory itself survives a power cut, is up to us. */
function makeLastingDirectory(directory: string): void {
  for (const made of makeDirectory(directory).reverse()) syncPath(path.dirname(made));
}

function firstReply(worker: Worker): Promise<Reply> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new StoreError('unavailable', `the store's thread ended with ${code} before it opened the database`)),
    );
  });
}

import type { Entry, ListOptions, Page, Range, SnapshotInfo, Store, Watch, WatchHandler } from '../contract.ts';
import { StoreError } from '../contract.ts';
import { exportStore } from '../portable.ts';
import type { Connection } from './connection.ts';
import { decodeRange, decodeSwap, encodeCompaction, encodeRange, encodeSwap, type RangeRequest, type RangeResponse } from './messages.ts';
import { SharedProbe } from './shared-probe.ts';
import { Watcher } from './watcher.ts';

const rangePath = '/etcdserverpb.KV/Range';
const swapPath = '/etcdserverpb.KV/Txn';
const compactPath = '/etcdserverpb.KV/Compact';
/** A larger list is read in pieces, all at one revision: etcd builds each answer in memory. */
const entriesPerRange = 2_000;
/** To etcd, revision 0 means a key that is not there, which only `create` may ask for. */
const neverGiven = Number.MAX_SAFE_INTEGER;

/** Keeps keys in etcd, all under one prefix. */
export class EtcdStore implements Store {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #skip: number;
  readonly #watchers = new Set<Watcher>();
  readonly #revisionProbe: SharedProbe<number>;
  /** As far as is known. */
  #compacted = 0;
  #closing: Promise<void> | undefined;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#skip = Buffer.byteLength(prefix);
    this.#revisionProbe = new SharedProbe(
      async () => (await this.#range({ key: '/', end: '', countOnly: true }, 'read the newest revision')).revision,
    );
  }

  get failure(): StoreError | undefined {
    return this.#connection.failure;
  }

  currentRevision(): Promise<number> {
    return this.#revisionProbe.ask();
  }

  async get(key: string): Promise<Entry | undefined> {
    const { entries } = await this.#range({ key, end: '' }, `read ${key}`);
    return entries[0];
  }

  async list(range: Range, options: ListOptions = {}): Promise<Page> {
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    const entries: Entry[] = [];
    let revision = options.revision ?? 0;
    let key = range.start;
    for (;;) {
      const wanted = Math.min(limit - entries.length, entriesPerRange);
      const response = await this.#listPart({ key, end: range.end, limit: wanted, revision });
      if (revision === 0) revision = response.revision;
      for (const entry of response.entries) entries.push(entry);
      const remaining = response.count - response.entries.length;
      if (remaining === 0 || entries.length >= limit) return { revision, entries, remaining };
      key = `${entries.at(-1)!.key}\0`;
    }
  }

  create(key: string, value: string): Promise<number> {
    return this.#swap(key, value, 0);
  }

  update(key: string, value: string, revision: number): Promise<number> {
    return this.#swap(key, value, revision || neverGiven);
  }

  delete(key: string, revision: number): Promise<number> {
    return this.#swap(key, undefined, revision || neverGiven);
  }

  watch(range: Range, after: number, handler: WatchHandler): Watch {
    if (this.#closing !== undefined) {
      queueMicrotask(() => handler.failed(new StoreError('closed', 'the store was closed')));
      return { close() {}, requestProgress() {} };
    }
    const watcher = new Watcher(range, after, {
      connection: this.#connection,
      prefix: this.#prefix,
      handler,
      onEnd: (ended) => this.#watchers.delete(ended),
      currentRevision: () => this.currentRevision(),
    });
    this.#watchers.add(watcher);
    return watcher;
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#connection.call({
        path: compactPath,
        body: encodeCompaction(revision),
        decode: () => undefined,
        repeatable: true,
        doing: `compact to revision ${revision}`,
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
    }
  }

  /** etcd does not tell; but it refuses to read below that revision, so a search finds it. */
  async compactedRevision(): Promise<number> {
    let low = this.#compacted;
    let high = await this.currentRevision();
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (await this.#isReadable(Math.max(middle, 1))) high = middle;
      else low = middle + 1;
    }
    // Revision 1 is that of an empty cluster: there is nothing before it to forget.
    this.#compacted = low <= 1 ? 0 : low;
    return this.#compacted;
  }

  /** A portable export: etcd's own snapshot holds the whole cluster and can only be restored by replacing it. */
  snapshot(file: string): Promise<SnapshotInfo> {
    return exportStore(this, file);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#connection.drain();
    for (const watcher of this.#watchers) watcher.fail(new StoreError('closed', 'the store was closed'));
    this.#connection.close();
  }

  async #swap(key: string, value: string | undefined, expected: number): Promise<number> {
    if (!key.isWellFormed())
      throw new StoreError('toolarge', `the key ${JSON.stringify(key)} holds half of a surrogate pair: keys are well-formed text`);
    const { succeeded, revision, current } = await this.#connection.call({
      path: swapPath,
      body: encodeSwap({ key: this.#prefix + key, value, expected }),
      decode: (buffer) => decodeSwap(buffer, this.#skip),
      repeatable: false,
      doing: `write ${key}`,
    });
    if (succeeded) return revision;
    if (current === undefined) throw new StoreError('missing', `${key} does not exist`);
    throw expected === 0
      ? new StoreError('exists', `${key} exists at revision ${current.revision}`, { current })
      : new StoreError('conflict', `${key} has changed: it is at revision ${current.revision} now`, { current });
  }

  async #listPart(request: { key: string; end: string; limit: number; revision: number }): Promise<RangeResponse> {
    try {
      return await this.#range(request, `list from ${request.key}`);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
      throw new StoreError('compacted', error.message, { compactedRevision: await this.compactedRevision(), cause: error });
    }
  }

  async #isReadable(revision: number): Promise<boolean> {
    try {
      await this.#range({ key: '/', end: '', countOnly: true, serializable: true, revision }, `read at revision ${revision}`);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'compacted') return false;
      throw error;
    }
  }

  #range(request: Partial<RangeRequest> & { key: string; end: string }, doing: string): Promise<RangeResponse> {
    const { limit = 0, revision = 0, countOnly = false, serializable = false } = request;
    const key = this.#prefix + request.key || '\0';
    const end = request.end === '' ? '' : this.#prefix + request.end;
    return this.#connection.call({
      path: rangePath,
      body: encodeRange({ key, end, limit, revision, countOnly, serializable }),
      decode: (buffer) => decodeRange(buffer, this.#skip),
      repeatable: true,
      doing,
    });
  }
}

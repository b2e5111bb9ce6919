import type { Entry, Guard, ListOptions, Page, Range, SnapshotInfo, Store, Watch, WatchHandler } from '../contract.ts';
import { StoreError } from '../contract.ts';
import { exportStore } from '../portable.ts';
import type { Connection } from './connection.ts';
import { decodeRange, encodeCompaction, encodeRange, type RangeRequest, type RangeResponse } from './messages.ts';
import { endOf, etcdRevisionOf, etcdRevisionWithin, isEnd } from './revisions.ts';
import { SharedProbe } from './shared-probe.ts';
import { mergeViews } from './views.ts';
import { Watcher } from './watcher.ts';
import { WriteQueue } from './write-queue.ts';

const rangePath = '/etcdserverpb.KV/Range';
const compactPath = '/etcdserverpb.KV/Compact';
/** A larger list is read in pieces, all at one revision: etcd builds each response in memory. */
const entriesPerRange = 2_000;
/** For reads at the newest revision of etcd. */
const newest = 0;

/** Keeps keys in etcd, all under one prefix. */
export class EtcdStore implements Store {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #skip: number;
  readonly #writes: WriteQueue;
  readonly #watchers = new Set<Watcher>();
  readonly #revisionProbe: SharedProbe<number>;
  /** An etcd revision, as far as known. */
  #compacted = 0;
  #closing: Promise<void> | undefined;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#skip = Buffer.byteLength(prefix);
    this.#writes = new WriteQueue(connection, prefix);
    this.#revisionProbe = new SharedProbe(
      async () => (await this.#range({ key: '/', end: '', countOnly: true }, 'read the newest revision')).etcdRevision,
    );
  }

  get failure(): StoreError | undefined {
    return this.#connection.failure;
  }

  async currentRevision(): Promise<number> {
    return endOf(await this.#revisionProbe.ask());
  }

  async get(key: string): Promise<Entry | undefined> {
    const { entries } = await this.#range({ key, end: '' }, `read ${key}`);
    return entries[0];
  }

  async list(range: Range, options: ListOptions = {}): Promise<Page> {
    const { revision, limit = Number.POSITIVE_INFINITY } = options;
    if (revision === undefined) {
      const { etcdRevision, ...page } = await this.#listAt(range, { etcdRevision: newest, limit });
      return { revision: endOf(etcdRevision), ...page };
    }
    // Revision 0 of etcd was as empty as revision 1.
    const etcdRevision = Math.max(1, etcdRevisionOf(revision));
    if (isEnd(revision)) {
      const { entries, remaining } = await this.#listAt(range, { etcdRevision, limit });
      return { revision, entries, remaining };
    }
    // Between the writes of one transaction. Lists never return such a revision, so it is rarely requested and may cost more.
    const after = await this.#listAt(range, { etcdRevision, limit: Number.POSITIVE_INFINITY });
    const before = await this.#listAt(range, { etcdRevision: Math.max(1, etcdRevision - 1), limit: Number.POSITIVE_INFINITY });
    const all = mergeViews(before.entries, after.entries, revision);
    const entries = all.slice(0, limit);
    return { revision, entries, remaining: all.length - entries.length };
  }

  create(key: string, value: string, guards?: readonly Guard[]): Promise<number> {
    return this.#writes.create(key, value, guards);
  }

  update(key: string, value: string, revision: number): Promise<number> {
    return this.#writes.write(key, value, revision);
  }

  delete(key: string, revision: number): Promise<number> {
    return this.#writes.write(key, undefined, revision);
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
    const etcdRevision = etcdRevisionWithin(revision);
    if (etcdRevision < 1) return;
    try {
      await this.#connection.call({
        path: compactPath,
        body: encodeCompaction(etcdRevision),
        decode: () => undefined,
        repeatable: true,
        doing: `compact to revision ${revision}`,
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
    }
  }

  /** etcd does not report it, but rejects reads below it, so a binary search finds it. */
  async compactedRevision(): Promise<number> {
    let low = this.#compacted;
    let high = await this.#revisionProbe.ask();
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (await this.#isReadable(Math.max(middle, 1))) high = middle;
      else low = middle + 1;
    }
    // Revision 1 is that of an empty cluster, which has no history to forget.
    this.#compacted = low <= 1 ? 0 : low;
    return this.#compacted === 0 ? 0 : endOf(this.#compacted);
  }

  /** A portable export: etcd's own snapshot contains the whole cluster and can only be restored by replacing it. */
  snapshot(file: string): Promise<SnapshotInfo> {
    return exportStore(this, file);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writes.drain();
    await this.#connection.drain();
    for (const watcher of this.#watchers) watcher.fail(new StoreError('closed', 'the store was closed'));
    this.#connection.close();
  }

  /** The state at one revision of etcd. */
  async #listAt(range: Range, at: { etcdRevision: number; limit: number }): Promise<Omit<Page, 'revision'> & { etcdRevision: number }> {
    const { limit } = at;
    const entries: Entry[] = [];
    let { etcdRevision } = at;
    let key = range.start;
    for (;;) {
      const wanted = Math.min(limit - entries.length, entriesPerRange);
      const response = await this.#listPart({ key, end: range.end, limit: wanted, etcdRevision });
      if (etcdRevision === newest) etcdRevision = response.etcdRevision;
      for (const entry of response.entries) entries.push(entry);
      const remaining = response.count - response.entries.length;
      if (remaining === 0 || entries.length >= limit) return { etcdRevision, entries, remaining };
      key = `${entries.at(-1)!.key}\0`;
    }
  }

  async #listPart(request: { key: string; end: string; limit: number; etcdRevision: number }): Promise<RangeResponse> {
    try {
      return await this.#range(request, `list from ${request.key}`);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
      throw new StoreError('compacted', error.message, { compactedRevision: await this.compactedRevision(), cause: error });
    }
  }

  async #isReadable(etcdRevision: number): Promise<boolean> {
    try {
      await this.#range({ key: '/', end: '', countOnly: true, serializable: true, etcdRevision }, `read at etcd revision ${etcdRevision}`);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'compacted') return false;
      throw error;
    }
  }

  #range(request: Partial<RangeRequest> & { key: string; end: string }, doing: string): Promise<RangeResponse> {
    const { limit = 0, etcdRevision = 0, countOnly = false, serializable = false } = request;
    const key = this.#prefix + request.key || '\0';
    const end = request.end === '' ? '' : this.#prefix + request.end;
    return this.#connection.call({
      path: rangePath,
      body: encodeRange({ key, end, limit, etcdRevision, countOnly, serializable }),
      decode: (buffer) => decodeRange(buffer, this.#skip),
      repeatable: true,
      doing,
    });
  }
}

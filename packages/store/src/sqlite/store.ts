import type { Worker } from 'node:worker_threads';
import {
  type Entry,
  type Guard,
  type ListOptions,
  type Page,
  type Range,
  type SnapshotInfo,
  type Store,
  StoreError,
  type Watch,
  type WatchHandler,
} from '../contract.ts';
import { closedError, maximumKeyLength, maximumValueLength, refusalError, toStoreError, unfitError } from './errors.ts';
import { eventsOfBatch, eventsOfHistory, toEntries } from './events.ts';
import { type OpenedState, type Operation, operation, type Reply, type Request, type WrittenReply } from './messages.ts';
import { type Answer, type Body, type Numbered, PendingReads } from './pending-reads.ts';
import { Watcher } from './watcher.ts';
import { type Batch, toRequest, type Write, WriteQueue } from './write-queue.ts';

/** The main thread's side: queues writes, notifies watchers, and tracks requests to the worker. */
export class SqliteStore implements Store {
  failure: StoreError | undefined;
  readonly #worker: Worker;
  readonly #queue = new WriteQueue();
  readonly #reads = new PendingReads();
  readonly #watchers = new Set<Watcher>();
  /** The newest revision that watchers have received. */
  #revision: number;
  #compacted: number;
  /** The worker's current batch; one at a time, so that writes which arrive in the meantime share the next commit. */
  #inFlight: Batch | undefined;
  #inFlightPrevious = false;
  #previousWanted = 0;
  #flushScheduled = false;
  #closing: Promise<void> | undefined;
  #drained: (() => void) | undefined;
  /** Why nothing more is accepted: set by the first dispose, or when the worker has died. */
  #ended: StoreError | undefined;
  readonly #flush = (): void => {
    this.#flushScheduled = false;
    this.#postBatch();
  };

  constructor(worker: Worker, state: OpenedState) {
    this.#worker = worker;
    this.#revision = state.revision;
    this.#compacted = state.compacted;
    this.failure = state.failure && toStoreError(state.failure);
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (cause) =>
      this.#lose(new StoreError('unavailable', `the store's thread died: ${String(cause)}. Restart the process`, { cause })),
    );
    worker.on('exit', () => this.#lose(closedError()));
  }

  async currentRevision(): Promise<number> {
    if (this.#ended !== undefined) throw this.#ended;
    return this.#revision;
  }

  async get(key: string): Promise<Entry | undefined> {
    const { reply } = await this.#request({ type: 'get', key });
    if (reply.type !== 'got') throw unexpected(reply);
    return toEntries(reply.rows)[0];
  }

  async list(range: Range, options: ListOptions = {}): Promise<Page> {
    const { start, end } = range;
    const { entries, reply } = await this.#request({
      type: 'list',
      start,
      end,
      revision: options.revision ?? 0,
      limit: options.limit ?? 0,
    });
    if (reply.type !== 'listed') throw unexpected(reply);
    return { revision: reply.revision, entries, remaining: reply.remaining };
  }

  create(key: string, value: string, guards?: readonly Guard[]): Promise<number> {
    return this.#write(operation.create, { key, value, revision: 0, guards });
  }

  update(key: string, value: string, revision: number): Promise<number> {
    return this.#write(operation.update, { key, value, revision });
  }

  delete(key: string, revision: number): Promise<number> {
    return this.#write(operation.delete, { key, value: '', revision });
  }

  watch(range: Range, after: number, handler: WatchHandler): Watch {
    const watcher = new Watcher(range, after, { handler, onEnd: (ended) => this.#forget(ended) });
    this.#watchers.add(watcher);
    if (watcher.wantsPrevious) this.#previousWanted++;
    // The pending batch may lack previous values; history has them.
    const missesPrevious = watcher.wantsPrevious && this.#inFlight !== undefined && !this.#inFlightPrevious;
    if (after === this.#revision && !missesPrevious && this.#ended === undefined) watcher.state = 'live';
    else this.#catchUp(watcher);
    return watcher;
  }

  async compact(revision: number): Promise<void> {
    const { reply } = await this.#request({ type: 'compact', revision });
    if (reply.type !== 'compacted') throw unexpected(reply);
    this.#compacted = reply.revision;
  }

  async compactedRevision(): Promise<number> {
    if (this.#ended !== undefined) throw this.#ended;
    return this.#compacted;
  }

  async snapshot(file: string): Promise<SnapshotInfo> {
    const { reply } = await this.#request({ type: 'snapshot', file });
    if (reply.type !== 'snapshotted') throw unexpected(reply);
    return reply.info;
  }

  /** Writes accepted before are still made. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#ended = closedError();
    const gone = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#postBatch();
    if (this.#inFlight !== undefined) await new Promise<void>((resolve) => (this.#drained = resolve));
    this.#worker.postMessage({ type: 'close' } satisfies Request);
    await gone;
  }

  #write(kind: Operation, write: Write): Promise<number> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.failure?.code === 'corrupt') return Promise.reject(this.failure);
    if (write.key.length > maximumKeyLength || write.value.length > maximumValueLength || !write.key.isWellFormed()) {
      return Promise.reject(unfitError(write.key, write.value));
    }
    const promise = this.#queue.add(kind, write);
    if (this.#inFlight === undefined && !this.#flushScheduled) {
      // Not immediately: other writes in this turn of the event loop share the commit.
      this.#flushScheduled = true;
      setImmediate(this.#flush);
    }
    return promise;
  }

  #postBatch(): void {
    if (this.#inFlight !== undefined) return;
    this.#inFlight = this.#queue.take();
    if (this.#inFlight === undefined) {
      this.#drained?.();
      return;
    }
    this.#inFlightPrevious = this.#previousWanted > 0;
    this.#worker.postMessage(toRequest(this.#inFlight, this.#inFlightPrevious));
  }

  #receive(reply: Reply): void {
    switch (reply.type) {
      case 'written': {
        const batch = this.#inFlight!;
        this.#inFlight = undefined;
        // The worker processes the next batch while this thread notifies the watchers of this one.
        this.#postBatch();
        this.#committed(batch, reply);
        return;
      }
      case 'unwritten': {
        const batch = this.#inFlight!;
        this.#inFlight = undefined;
        const error = toStoreError(reply.failure);
        for (const waiting of batch.waiting) waiting.reject(error);
        this.#postBatch();
        return;
      }
      case 'health':
        this.failure = reply.failure && toStoreError(reply.failure);
        return;
      default:
        if ('id' in reply) this.#reads.receive(reply);
    }
  }

  /** Watchers before writers: after a write, a watcher's state already includes it. */
  #committed(batch: Batch, written: WrittenReply): void {
    const through = written.first + batch.keys.length - written.refusals.length - 1;
    if (through > this.#revision) {
      this.#revision = through;
      const events = this.#watchers.size > 0 ? eventsOfBatch(batch, written) : [];
      // A handler may start a watch that is already beyond this batch.
      for (const watcher of this.#watchers) if (watcher.state === 'live' && watcher.position < through) watcher.deliver(events, through);
    }
    let revision = written.first;
    let refused = 0;
    for (let index = 0; index < batch.waiting.length; index++) {
      if (written.created[index] === 0) batch.waiting[index]!.reject(refusalError(batch.keys[index]!, written.refusals[refused++]!));
      else batch.waiting[index]!.resolve(revision++);
    }
  }

  #catchUp(watcher: Watcher): void {
    const { start, end } = watcher.range;
    this.#ask({ type: 'history', start, end, after: watcher.position, previous: watcher.wantsPrevious }, (answer) => {
      if ('error' in answer) return watcher.fail(answer.error);
      if (answer.reply.type !== 'events' || watcher.state === 'ended') return;
      const { history, through, complete } = answer.reply;
      if (complete) watcher.state = 'live';
      watcher.deliver(eventsOfHistory(history, watcher.wantsPrevious), through);
      if (watcher.state === 'catching-up') this.#catchUp(watcher);
    });
  }

  #forget(watcher: Watcher): void {
    if (this.#watchers.delete(watcher) && watcher.wantsPrevious) this.#previousWanted--;
  }

  #request(body: Body<Numbered>): Promise<{ entries: Entry[]; reply: Reply }> {
    return new Promise((resolve, reject) => {
      this.#ask(body, (answer) => {
        if ('reply' in answer) resolve(answer);
        else reject(answer.error);
      });
    });
  }

  #ask(body: Body<Numbered>, done: (answer: Answer) => void): void {
    if (this.#ended !== undefined) {
      const error = this.#ended;
      queueMicrotask(() => done({ error }));
      return;
    }
    this.#worker.postMessage({ ...body, id: this.#reads.add(done) });
  }

  /** The worker has ended, on request or not: it will answer nothing more. */
  #lose(error: StoreError): void {
    this.#ended ??= error;
    if (error.code !== 'closed') this.failure = error;
    for (const waiting of this.#inFlight?.waiting ?? []) waiting.reject(error);
    this.#inFlight = undefined;
    this.#queue.rejectAll(error);
    this.#reads.rejectAll(error);
    for (const watcher of this.#watchers) watcher.fail(error);
    this.#drained?.();
  }
}

function unexpected(reply: Reply): Error {
  return new Error(`the worker sent an unexpected ${reply.type}`);
}

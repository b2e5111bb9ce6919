import { type Range, StoreError, type StoreEvent, type Watch, type WatchHandler } from '../contract.ts';
import type { Connection } from './connection.ts';
import type { GrpcStream } from './grpc-member.ts';
import { endOf, etcdRevisionOf, isEnd } from './revisions.ts';
import { decodeWatchResponse, encodeProgressRequest, encodeWatchCreate, type WatchResponse } from './watch-messages.ts';

export interface WatcherOptions {
  readonly connection: Connection;
  readonly prefix: string;
  readonly handler: WatchHandler;
  readonly onEnd: (watcher: Watcher) => void;
  /** A linearizable read of the newest revision. */
  readonly currentRevision: () => Promise<number>;
}

const watchPath = '/etcdserverpb.Watch/Watch';
const firstPause = 50;
const longestPause = 2_000;
const firstAskPause = 10;

/** One watch, on a stream of its own. When the stream breaks, another continues after the last delivered revision. */
export class Watcher implements Watch {
  readonly #options: WatcherOptions;
  readonly #range: Range;
  readonly #skip: number;
  /** Everything up to this revision was delivered. */
  #position: number;
  #stream: GrpcStream | undefined;
  #isCreated = false;
  /** The revision that the caller of `requestProgress` waits for. */
  #target = 0;
  #missed: NodeJS.Timeout | undefined;
  #ask: NodeJS.Timeout | undefined;
  #askPause = firstAskPause;
  #fragments: StoreEvent[] = [];
  #pause = firstPause;
  #retry: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(range: Range, after: number, options: WatcherOptions) {
    this.#range = range;
    this.#position = after;
    this.#options = options;
    this.#skip = Buffer.byteLength(options.prefix);
    this.#connect();
  }

  close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#ask);
    clearTimeout(this.#missed);
    this.#stream?.cancel();
    this.#options.onEnd(this);
  }

  fail(error: StoreError): void {
    if (this.#hasEnded) return;
    this.close();
    try {
      this.#options.handler.failed(error);
    } catch {
      // Nobody is left to report an error of this handler to; other watchers must not suffer from it.
    }
  }

  requestProgress(): void {
    this.#options.currentRevision().then(
      (revision) => this.#guard(() => this.#reach(revision)),
      // The cluster is unreachable: the caller still waits, so keep asking.
      () => {
        if (!this.#hasEnded) this.#missed ??= setTimeout(() => this.#requestAgain(), longestPause);
      },
    );
  }

  #requestAgain(): void {
    this.#missed = undefined;
    this.requestProgress();
  }

  #reach(revision: number): void {
    if (this.#hasEnded) return;
    if (revision <= this.#position) this.#options.handler.progress?.(this.#position);
    else if (revision > this.#target) {
      this.#target = revision;
      this.#askPause = firstAskPause;
      this.#askForProgress();
    }
  }

  /**
   * etcd silently drops the request while it still has history to send, and a response may be older than the last request. So it is
   * repeated until the target is reached.
   */
  #askForProgress(): void {
    clearTimeout(this.#ask);
    if (this.#position >= this.#target || !this.#isCreated || this.#hasEnded) return;
    this.#stream?.send(encodeProgressRequest());
    this.#ask = setTimeout(() => this.#askForProgress(), this.#askPause);
    this.#askPause = Math.min(this.#askPause * 2, longestPause);
  }

  #connect(): void {
    const { connection, prefix, handler } = this.#options;
    const stream = connection.stream(watchPath, {
      message: (message) => {
        if (this.#stream === stream && !this.#hasEnded) this.#guard(() => this.#handle(decodeWatchResponse(message, this.#skip)));
      },
      closed: () => this.#reconnect(stream),
    });
    this.#stream = stream;
    this.#isCreated = false;
    this.#fragments = [];
    stream.send(
      encodeWatchCreate({
        key: prefix + this.#range.start || '\0',
        end: prefix + this.#range.end,
        startRevision: startAfter(this.#position),
        previous: handler.withoutPrevious !== true,
      }),
    );
  }

  /** With growing pauses until a stream is established again, each time to the next member. */
  #reconnect(stream: GrpcStream): void {
    if (this.#hasEnded || this.#stream !== stream) return;
    this.#stream = undefined;
    stream.cancel();
    this.#options.connection.rotate();
    this.#options.connection.check();
    this.#retry = setTimeout(() => this.#connect(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, longestPause);
  }

  /** An exception from a handler ends its watch. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.fail(new StoreError('closed', `the watch ended because its handler threw: ${reason}`, { cause }));
    }
  }

  #handle(response: WatchResponse): void {
    if (response.canceled || response.compactRevision > 0) {
      this.#canceled(response);
      return;
    }
    if (response.created) {
      this.#isCreated = true;
      this.#pause = firstPause;
      // etcd reports no progress below the start of a watch, so one that begins at the newest revision would otherwise get none until the
      // next write.
      if (endOf(response.etcdRevision) < this.#position) this.#checkFuture();
      else this.#options.handler.progress?.(this.#position);
      this.#askForProgress();
      return;
    }
    if (response.fragment || this.#fragments.length > 0) for (const event of response.events) this.#fragments.push(event);
    if (response.fragment) return;
    const events = this.#fragments.length > 0 ? this.#fragments : response.events;
    this.#fragments = [];
    this.#deliver(events, response.etcdRevision);
  }

  /**
   * A response without events means that everything up to its revision was sent; one with events covers only the revision of its last
   * event.
   */
  #deliver(events: StoreEvent[], etcdRevision: number): void {
    const { handler } = this.#options;
    const last = events.at(-1);
    const through = endOf(last === undefined ? etcdRevision : etcdRevisionOf(last.revision));
    // A member that lags behind may report older progress.
    if (through < this.#position) return;
    const fresh = inOrderAfter(this.#position, events);
    this.#position = through;
    if (fresh.length > 0) handler.events(fresh);
    if (!this.#hasEnded) handler.progress?.(through);
  }

  #canceled(response: WatchResponse): void {
    const { compactRevision, cancelReason } = response;
    if (compactRevision > 0) {
      const compactedRevision = endOf(compactRevision);
      const message = `revision ${this.#position} is compacted: history begins at ${compactedRevision}`;
      this.fail(new StoreError('compacted', message, { compactedRevision }));
    } else if (this.#stream !== undefined) {
      // Otherwise there is no leader, or the member is shutting down.
      if (cancelReason.includes('permission denied')) this.fail(new StoreError('unavailable', `etcd rejects the watch: ${cancelReason}`));
      else this.#reconnect(this.#stream);
    }
  }

  /** The member has not reached that revision. It may only lag behind, so ask the cluster. */
  #checkFuture(): void {
    const position = this.#position;
    this.#options.currentRevision().then(
      (newest) => {
        if (newest < position) this.fail(new StoreError('future', `revision ${position} does not exist yet: the newest is ${newest}`));
      },
      // Unreachable: the stream will notice, reconnect, and check again.
      () => {},
    );
  }
}

/**
 * The etcd revision at which a watch must begin. One that continues between the writes of a transaction begins at that transaction's
 * predecessor: if history were compacted up to exactly this transaction, etcd would otherwise begin with what is left of it.
 */
function startAfter(revision: number): number {
  const etcdRevision = etcdRevisionOf(revision);
  return isEnd(revision) ? etcdRevision + 1 : Math.max(1, etcdRevision - 1);
}

/**
 * The events above a revision. They arrive in revision order, except those of transactions made by other programs, which know nothing of
 * positions.
 */
function inOrderAfter(revision: number, events: StoreEvent[]): StoreEvent[] {
  let last = revision;
  for (const event of events) {
    if (event.revision <= last) {
      return events.filter((one) => one.revision > revision).sort((a, b) => a.revision - b.revision);
    }
    last = event.revision;
  }
  return events;
}

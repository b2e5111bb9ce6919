import { StatusError } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { CacheEvent } from '../cache/event-ring.ts';
import type { ResourceCache } from '../cache/watch-cache.ts';
import type { AnswerStream } from '../http/exchange.ts';
import { frames } from '../registry/shape.ts';
import type { History } from './history.ts';
import type { View } from './view.ts';

function failureText(error: unknown): string {
  const answer = error instanceof StatusError ? error : new StatusError({ code: 500, message: String(error) });
  return JSON.stringify(answer.status);
}

/**
 * A client with more unsent bytes than this is behind: it leaves the live group, and catches up from the ring after reading what
 * it was sent.
 */
const highWater = 1 << 20;
/** The size of the portions in which a client catches up. */
const slice = 512 << 10;

export interface WatchSource {
  readonly cache: ResourceCache;
  /** Everything up to this revision has been applied to the cache. */
  readonly revision: () => number;
  /** The next events from the store that the ring no longer has; undefined if the store has compacted them. */
  readonly history: (after: number) => Promise<History | undefined>;
}

/**
 * The watch of one client. It is in one of three states: it receives the objects that existed when it started; it catches up with
 * missed events; or it is live, a member of its view's group, and receives the same bytes as every other member. A slow client
 * falls back to catching up, so little is buffered for it and it never slows the others.
 */
export class WatchStream {
  readonly #stream: AnswerStream;
  readonly #view: View;
  readonly #source: WatchSource;
  readonly #bookmarks: boolean;
  readonly #onDone: () => void;
  /** Runs a piece of work when it is the turn of the client's tenant. */
  readonly inTurn: (work: () => void) => void;
  /** The last revision sent. Not updated while live: a live member has seen everything in the cache. */
  #revision: number;
  /** The revision from which the client started. */
  readonly began: number;
  #first = true;
  #done = false;
  #lastBookmark = 0;

  constructor(options: {
    stream: AnswerStream;
    view: View;
    source: WatchSource;
    after: number;
    bookmarks: boolean;
    onDone: () => void;
    inTurn: (work: () => void) => void;
  }) {
    this.#stream = options.stream;
    this.#view = options.view;
    this.#source = options.source;
    this.#revision = options.after;
    this.began = options.after;
    this.#bookmarks = options.bookmarks;
    this.#onDone = options.onDone;
    this.inTurn = options.inTurn;
  }

  /** Sends the initial objects, then a bookmark if requested, then continues from `revision`. */
  startWith(initial: readonly CacheEntry[], mark: string | undefined): void {
    let at = 0;
    const pump = (): void => {
      let chunk = '';
      while (!this.#done && at < initial.length && chunk.length < slice) chunk += this.#frame('ADDED', initial[at++]!);
      if (this.#done) return;
      if (chunk !== '') this.#stream.write(chunk);
      if (at < initial.length) return this.#later(pump, slice);
      if (mark !== undefined) this.#stream.write(mark);
      this.catchUp();
    };
    pump();
  }

  /** Continues in the next turn of the tenant, and not before the client has read most of what it was sent. */
  #later(work: () => void, mostPending: number): void {
    if (this.#stream.pending > mostPending) this.#stream.onDrain(() => this.inTurn(work));
    else this.inTurn(work);
  }

  /** Sends the events after the last one sent, and joins the live group when there are no more. */
  catchUp = (): void => {
    while (!this.#done) {
      if (this.#revision < this.#source.cache.ring.after) {
        // To read the store takes as long as to send what it has.
        this.inTurn(() => void this.#catchUpFromHistory().catch((error: unknown) => this.fail(failureText(error))));
        return;
      }
      const events = this.#source.cache.ring.since(this.#revision);
      if (events.length === 0) {
        this.#revision = Math.max(this.#revision, this.#source.revision());
        this.#view.join(this);
        return;
      }
      const converting = this.#view.ready(events);
      if (converting !== undefined) {
        converting.then(this.catchUp, (error: unknown) => this.fail(failureText(error)));
        return;
      }
      if (!this.#send(events)) return;
    }
  };

  /** Called by the group with the bytes shared by all members and the revision before them. */
  deliver(chunk: Buffer, before: number): void {
    if (this.#stream.pending > highWater) this.#fallBehind(before);
    else this.#stream.write(chunk);
  }

  /** The same for a member that `waitAt` the revision before these bytes, which end at `last`. */
  deliverLate(chunk: Buffer, last: number): void {
    if (this.#done) return;
    if (this.#stream.pending > highWater) return this.#later(this.catchUp, highWater);
    this.#stream.write(chunk);
    this.#revision = last;
    this.catchUp();
  }

  /** Called by the group for views whose events each member must serialize itself. */
  deliverEvents(events: readonly CacheEvent[], before: number): void {
    if (this.#stream.pending > highWater) this.#fallBehind(before);
    else if (!this.#send(events)) this.#view.leave(this);
  }

  /** Called by the group when every member has to fetch the events after a revision itself. */
  fetchAfter(revision: number): void {
    this.waitAt(revision);
    this.catchUp();
  }

  /** Leaves the live group. The caller calls `catchUp` later. */
  waitAt(revision: number): void {
    this.#view.leave(this);
    this.#revision = revision;
  }

  /** Sends a bookmark, if the client asked for bookmarks and has not received one lately. */
  bookmark(now: number, every: number): void {
    if (!this.#bookmarks || this.#done || now - this.#lastBookmark < every || this.#stream.pending > highWater) return;
    this.#lastBookmark = now;
    // A live member has seen everything in the cache, even events that its filter left out.
    if (this.#view.has(this)) this.#revision = this.#source.revision();
    this.#stream.write(this.#view.bookmark(this.#revision));
  }

  fail(statusText: string): void {
    if (this.#done) return;
    this.#stream.write(`{"type":"ERROR","object":${statusText}}\n`);
    this.end();
  }

  end(): void {
    if (this.#done) return;
    this.closed();
    this.#stream.end();
  }

  /** The client has disconnected. */
  closed(): void {
    if (this.#done) return;
    this.#done = true;
    this.#view.leave(this);
    this.#onDone();
  }

  /** Leaves the live group until the client has read what it was sent. */
  #fallBehind(revision: number): void {
    this.waitAt(revision);
    this.#later(this.catchUp, highWater);
  }

  async #catchUpFromHistory(): Promise<void> {
    if (this.#done) return;
    const history = await this.#source.history(this.#revision);
    if (this.#isOver()) return;
    if (history === undefined) {
      this.fail(this.#view.tooOld(this.#revision, this.#source.revision()));
      return;
    }
    const { events, reached } = history;
    const converting = this.#view.ready(events);
    if (converting !== undefined) await converting;
    if (events.length > 0 && !this.#send(events)) return;
    this.#revision = Math.max(this.#revision, reached);
    this.catchUp();
  }

  #isOver(): boolean {
    return this.#done;
  }

  /**
   * Sends a portion of the events. Returns false if there are more, or the client has to read first; `catchUp` then follows. A portion ends
   * with all events of its last revision, since the next one begins after that revision.
   */
  #send(events: readonly CacheEvent[]): boolean {
    let chunk = '';
    for (const [at, event] of events.entries()) {
      const seen = this.#view.transition(event);
      if (seen !== undefined) chunk += this.#frame(seen.type, seen.entry);
      if (this.#done) return false;
      this.#revision = event.revision;
      if (chunk.length < slice || events[at + 1]?.revision === event.revision) continue;
      this.#stream.write(chunk);
      this.#later(this.catchUp, highWater);
      return false;
    }
    if (chunk !== '') this.#stream.write(chunk);
    return true;
  }

  /** An object that cannot be converted ends the watch with an error. */
  #frame(type: string, entry: CacheEntry): string {
    try {
      const text = frames(this.#view.shaper, { type, entry }, this.#first);
      if (text !== '') this.#first = false;
      return text;
    } catch (error) {
      this.fail(failureText(error));
      return '';
    }
  }
}

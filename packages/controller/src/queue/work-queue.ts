import { type BackoffLimits, backoffAfter } from '@capstan/machinery';
import { Heap } from './heap.ts';
import { Lane, type Ticket } from './lane.ts';
import { type RateOptions, TokenBucket } from './rate.ts';

/** `fresh`: something changed. `resync`: a periodic check. */
export type Priority = 'fresh' | 'resync';

/** Callbacks for metrics. Times are in milliseconds. */
export interface QueueObserver {
  added?(): void;
  retried?(): void;
  /** A worker took an item after it had waited. */
  taken?(waited: number): void;
  /** A worker finished an item. */
  finished?(worked: number): void;
}

export interface WorkQueueOptions<T> {
  readonly keyOf: (item: T) => string;
  /** Items with the same fairness share one turn; usually the workspace. */
  readonly fairness?: (item: T) => string;
  /** How long a failed item waits; doubled with each failure. */
  readonly backoff?: BackoffLimits;
  /** Limits all failed items together. */
  readonly rate?: RateOptions;
  readonly observer?: QueueObserver;
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
}

interface Entry<T> {
  item: T;
  /** Its ticket in a lane while it waits there. */
  ticket: Ticket | undefined;
  priority: Priority;
  /** Its place in the heap of delayed items while it waits there. */
  delayed: Delayed<T> | undefined;
  working: boolean;
  /** Added again while it was worked on. */
  again: boolean;
  failures: number;
  readyAt: number;
  takenAt: number;
}

interface Delayed<T> {
  readonly entry: Entry<T>;
  readonly due: number;
  readonly priority: Priority;
}

/** One turn of this many belongs to resyncs, however many changes wait. */
const resyncTurn = 16;
/** The longest delay of a timer in Node. */
const longestTimer = 2 ** 31 - 1;

/**
 * A queue that holds each item once, however often it is added, and never gives it to two workers at the same time: an item that is added
 * while it is worked on comes back afterwards. An item that is not waiting, worked on or failing is not held at all.
 */
export class WorkQueue<T> {
  readonly #options: WorkQueueOptions<T>;
  readonly #backoff: BackoffLimits;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #lanes: Record<Priority, Lane> = { fresh: new Lane(), resync: new Lane() };
  readonly #waiting: Record<Priority, number> = { fresh: 0, resync: 0 };
  readonly #delayed = new Heap<Delayed<T>>((one, other) => one.due < other.due);
  readonly #bucket: TokenBucket;
  #takers: ((item: T | undefined) => void)[] = [];
  #sinceResync = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
    this.#backoff = options.backoff ?? { base: 5, max: 1_000_000 };
    this.#now = options.now ?? (() => performance.now());
    this.#bucket = new TokenBucket(options.rate ?? { perSecond: 10, burst: 100 }, this.#now());
  }

  /** How many items could be taken now. */
  get depth(): number {
    return this.#waiting.fresh + this.#waiting.resync;
  }

  /** How many items are held: waiting, delayed, worked on or failing. */
  get size(): number {
    return this.#entries.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  add(item: T, priority: Priority = 'fresh'): void {
    if (this.#closed) return;
    const entry = this.#entry(item);
    entry.item = item;
    if (entry.working) {
      if (!entry.again || priority === 'fresh') entry.priority = priority;
      entry.again = true;
      this.#options.observer?.added?.();
      return;
    }
    if (entry.ticket !== undefined) {
      if (entry.priority === 'fresh' || priority === 'resync') return;
      entry.ticket.withdrawn = true;
      this.#waiting.resync--;
    } else {
      entry.readyAt = this.#now();
      this.#options.observer?.added?.();
    }
    this.#enqueue(entry, priority);
  }

  /** Adds it after a delay, unless it is due earlier already. */
  addAfter(item: T, milliseconds: number, priority: Priority = 'fresh'): void {
    if (this.#closed) return;
    if (milliseconds <= 0) return this.add(item, priority);
    const entry = this.#entry(item);
    const due = this.#now() + milliseconds;
    if (entry.delayed !== undefined && entry.delayed.due <= due) return;
    entry.delayed = { entry, due, priority };
    this.#delayed.push(entry.delayed);
    this.#schedule();
  }

  /** Adds it after a wait that doubles with each call, until `forget`. */
  addFailed(item: T): void {
    if (this.#closed) return;
    const entry = this.#entry(item);
    const own = backoffAfter(entry.failures, this.#backoff);
    entry.failures++;
    this.#options.observer?.retried?.();
    this.addAfter(item, Math.max(own, this.#bucket.reserve(this.#now())));
  }

  /** Resets the failures of an item after a success. */
  forget(item: T): void {
    const entry = this.#entries.get(this.#options.keyOf(item));
    if (entry === undefined) return;
    entry.failures = 0;
    this.#release(entry);
  }

  /** How often it failed in a row. */
  failures(item: T): number {
    return this.#entries.get(this.#options.keyOf(item))?.failures ?? 0;
  }

  /** The next item, which belongs to the caller until `done`; undefined once the queue is closed and empty. */
  take(): Promise<T | undefined> {
    const item = this.tryTake();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#takers.push(resolve);
    });
  }

  tryTake(): T | undefined {
    const ticket = this.#nextTicket();
    if (ticket === undefined) return undefined;
    const entry = this.#entries.get(ticket.key)!;
    const now = this.#now();
    entry.ticket = undefined;
    entry.working = true;
    entry.takenAt = now;
    this.#waiting[entry.priority]--;
    this.#options.observer?.taken?.(now - entry.readyAt);
    return entry.item;
  }

  done(item: T): void {
    const key = this.#options.keyOf(item);
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.working)
      throw new Error(`"${key}" is not being worked on; done was called twice, or for another item`);
    entry.working = false;
    const now = this.#now();
    this.#options.observer?.finished?.(now - entry.takenAt);
    if (entry.again && !this.#closed) {
      entry.again = false;
      entry.readyAt = now;
      this.#enqueue(entry, entry.priority);
    } else this.#release(entry);
  }

  /** Ends the queue: waiting items are dropped, and workers may finish theirs. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const entry of this.#entries.values()) {
      if (entry.ticket !== undefined) entry.ticket.withdrawn = true;
      entry.ticket = undefined;
      entry.delayed = undefined;
      entry.again = false;
      if (!entry.working) this.#entries.delete(this.#options.keyOf(entry.item));
    }
    this.#waiting.fresh = 0;
    this.#waiting.resync = 0;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
  }

  #entry(item: T): Entry<T> {
    const key = this.#options.keyOf(item);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        item,
        ticket: undefined,
        priority: 'fresh',
        delayed: undefined,
        working: false,
        again: false,
        failures: 0,
        readyAt: 0,
        takenAt: 0,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Drops an entry that is not needed any more. */
  #release(entry: Entry<T>): void {
    if (entry.working || entry.ticket !== undefined || entry.delayed !== undefined || entry.failures > 0) return;
    this.#entries.delete(this.#options.keyOf(entry.item));
  }

  #enqueue(entry: Entry<T>, priority: Priority): void {
    entry.priority = priority;
    entry.ticket = { key: this.#options.keyOf(entry.item), withdrawn: false };
    this.#lanes[priority].push(entry.ticket, this.#options.fairness?.(entry.item) ?? '');
    this.#waiting[priority]++;
    const taker = this.#takers.shift();
    if (taker !== undefined) taker(this.tryTake());
  }

  #nextTicket(): Ticket | undefined {
    const { fresh, resync } = this.#waiting;
    if (fresh === 0 && resync === 0) return undefined;
    if (resync > 0 && (fresh === 0 || this.#sinceResync >= resyncTurn - 1)) {
      this.#sinceResync = 0;
      return this.#lanes.resync.take();
    }
    this.#sinceResync = resync > 0 ? this.#sinceResync + 1 : 0;
    return this.#lanes.fresh.take();
  }

  /** Uses one timer for all delayed items. */
  #schedule(): void {
    const first = this.#delayed.peek();
    if (first === undefined || first.due >= this.#timerDue) return;
    clearTimeout(this.#timer);
    this.#timerDue = first.due;
    this.#timer = setTimeout(() => this.#wake(), Math.min(longestTimer, Math.max(0, first.due - this.#now())));
  }

  #wake(): void {
    this.#timerDue = Number.POSITIVE_INFINITY;
    const now = this.#now();
    for (let first = this.#delayed.peek(); first !== undefined && first.due <= now; first = this.#delayed.peek()) {
      this.#delayed.pop();
      // Replaced by an earlier one, or dropped.
      if (first.entry.delayed !== first) continue;
      first.entry.delayed = undefined;
      this.add(first.entry.item, first.priority);
    }
    this.#schedule();
  }
}

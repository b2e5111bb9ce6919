import type { KubeObject } from '@capstan/machinery';
import type { CacheEntry } from './entry.ts';

export interface CacheEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** The object after the change; for DELETED its last state, at the revision of the deletion. */
  readonly entry: CacheEntry<T>;
  readonly previous: CacheEntry<T> | undefined;
}

/**
 * The newest events of one resource, oldest first. Old events are evicted when there are too many or their texts are too large;
 * `after` is the revision from which the ring is complete.
 */
export class EventRing {
  #events: CacheEvent[] = [];
  #head = 0;
  #bytes = 0;
  #after: number;
  readonly #maxEvents: number;
  readonly #maxBytes: number;

  constructor(options: { after: number; maxEvents: number; maxBytes: number }) {
    this.#after = options.after;
    this.#maxEvents = options.maxEvents;
    this.#maxBytes = options.maxBytes;
  }

  /** Every event above this revision is in the ring. */
  get after(): number {
    return this.#after;
  }

  /** Starts over: nothing before this revision is known. */
  startAt(revision: number): void {
    this.#events = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#after = revision;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += weight(event);
    while (this.#events.length - this.#head > 1 && (this.#events.length - this.#head > this.#maxEvents || this.#bytes > this.#maxBytes)) {
      const dropped = this.#events[this.#head]!;
      this.#bytes -= weight(dropped);
      this.#after = dropped.revision;
      this.#head++;
    }
    if (this.#head > 1024 && this.#head > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Drops the events up to a revision; returns their number. */
  forget(revision: number): number {
    const before = this.#head;
    while (this.#head < this.#events.length && this.#events[this.#head]!.revision <= revision) {
      const dropped = this.#events[this.#head]!;
      this.#bytes -= weight(dropped);
      this.#after = dropped.revision;
      this.#head++;
    }
    const count = this.#head - before;
    if (count > 0) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
    return count;
  }

  /** Events after the revision, oldest first. Complete only if the revision is at least `after`. */
  since(revision: number): CacheEvent[] {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }
}

/** The memory that only this event holds: the text it replaced. The cache holds the new text anyway until it is replaced in turn. */
function weight(event: CacheEvent): number {
  return 160 + (event.previous?.text.length ?? 0);
}

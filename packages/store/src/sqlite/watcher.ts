import { type Range, StoreError, type StoreEvent, type Watch, type WatchHandler } from '../contract.ts';
import { rangeTest } from '../keys.ts';

/**
 * One watch. It is `catching-up` while it reads history, then `live`. It needs no buffer in between: the worker answers in order, so the
 * last piece of history ends exactly at the last commit that the main thread knows of.
 */
export class Watcher implements Watch {
  state: 'catching-up' | 'live' | 'ended' = 'catching-up';
  /** Everything up to this revision was delivered. */
  position: number;
  readonly range: Range;
  readonly wantsPrevious: boolean;
  readonly #handler: WatchHandler;
  readonly #contains: (key: string) => boolean;
  readonly #onEnd: (watcher: Watcher) => void;

  constructor(range: Range, after: number, options: { handler: WatchHandler; onEnd: (watcher: Watcher) => void }) {
    this.range = range;
    this.position = after;
    this.wantsPrevious = options.handler.withoutPrevious !== true;
    this.#handler = options.handler;
    this.#contains = rangeTest(range);
    this.#onEnd = options.onEnd;
  }

  /** Events of any key, up to and including `through`. */
  deliver(events: readonly StoreEvent[], through: number): void {
    if (this.state === 'ended') return;
    this.position = through;
    try {
      const mine = this.#select(events);
      if (mine.length > 0) this.#handler.events(mine);
      if (!this.#hasEnded()) this.#handler.progress?.(through);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.fail(new StoreError('closed', `the watch ended because its handler threw: ${reason}`, { cause }));
    }
  }

  fail(error: StoreError): void {
    if (this.state === 'ended') return;
    this.close();
    try {
      this.#handler.failed(error);
    } catch {
      // Nobody is left to report an error of this handler to; other watchers must not suffer from it.
    }
  }

  close(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.#onEnd(this);
  }

  requestProgress(): void {
    if (this.state === 'live') this.deliver([], this.position);
  }

  #hasEnded(): boolean {
    return this.state === 'ended';
  }

  /**
   * The batch itself if all of it is in the range, which saves a copy for a watcher of everything. Previous entries are passed only to
   * watchers that want them.
   */
  #select(events: readonly StoreEvent[]): readonly StoreEvent[] {
    let index = 0;
    while (index < events.length && this.#contains(events[index]!.key)) index++;
    if (index === events.length) return events;
    const mine = events.slice(0, index);
    for (index++; index < events.length; index++) if (this.#contains(events[index]!.key)) mine.push(events[index]!);
    return mine;
  }
}

import type { Range, Store, StoreError, StoreEvent, Watch, WatchHandler } from '../contract.ts';
import { prefixRange } from '../keys.ts';

export const everything = prefixRange('/');

/** A watcher that records its events, and lets a test wait for them. */
export class Recorder implements WatchHandler {
  readonly received: StoreEvent[] = [];
  readonly withoutPrevious: boolean;
  progressed = 0;
  error: StoreError | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(withoutPrevious = false) {
    this.withoutPrevious = withoutPrevious;
  }

  get revisions(): number[] {
    return this.received.map((event) => event.revision);
  }

  start(store: Store, after: number, range: Range = everything): Watch {
    return store.watch(range, after, this);
  }

  events(batch: readonly StoreEvent[]): void {
    this.received.push(...batch);
    this.#wake();
  }

  progress(revision: number): void {
    this.progressed = revision;
    this.#wake();
  }

  failed(error: StoreError): void {
    this.error = error;
    this.#wake();
  }

  /** Waits until the watch has delivered everything up to this revision. */
  async reaches(revision: number): Promise<void> {
    while ((this.received.at(-1)?.revision ?? 0) < revision && this.progressed < revision) {
      if (this.error !== undefined) throw this.error;
      await this.#changed.promise;
    }
  }

  async fails(): Promise<StoreError> {
    while (this.error === undefined) await this.#changed.promise;
    return this.error;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

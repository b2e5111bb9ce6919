import type { WatchCache } from '../cache/watch-cache.ts';
import { keepCompacted } from './compaction.ts';
import { keepEventsFor } from './event-retention.ts';
import { settleMemory } from './settle.ts';

/** So many events of history weigh enough to look for memory to give back. */
const manyEvents = 10_000;

export interface TidinessOptions {
  /** In milliseconds: how long events are kept after they were last written. */
  readonly eventLifetime?: number;
  /** In milliseconds: how long history is kept at least. */
  readonly compactionInterval?: number;
  readonly log: (line: string) => void;
}

/** Lets old events and old history go, and gives back the memory that they had, until the signal. */
export function keepTidy(
  cache: WatchCache,
  { eventLifetime, compactionInterval, log }: TidinessOptions,
  { now, signal }: { readonly now: () => Date; readonly signal: AbortSignal },
): void {
  const settling = settleMemory(signal);
  keepEventsFor({
    ...{ cache, store: cache.store, now, signal, lifetime: eventLifetime },
    onError: (error) => log(`old events could not be deleted: ${String(error)}`),
  });
  keepCompacted(cache, {
    signal,
    onForgotten: (events) => {
      if (events > manyEvents) settling.freed();
    },
    onError: (error) => log(`history could not be compacted: ${String(error)}`),
    ...(compactionInterval !== undefined && { every: compactionInterval }),
  });
}

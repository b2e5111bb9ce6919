import type { WatchCache } from '../cache/watch-cache.ts';
import { keepCompacted } from './compaction.ts';
import { keepEventsFor } from './event-retention.ts';
import { settleMemory } from './settle.ts';

/** Dropping this many events of history is worth a search for memory to reclaim. */
const manyEvents = 10_000;

export interface TidinessOptions {
  /** How long events are kept after their last write, in milliseconds. */
  readonly eventLifetime?: number;
  /** The minimum time for which history is kept, in milliseconds. */
  readonly compactionInterval?: number;
  readonly log: (line: string) => void;
}

/** Deletes old events and history and reclaims their memory, until the signal aborts. */
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

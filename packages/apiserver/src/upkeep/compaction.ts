import { type Store, StoreError } from '@capstan/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import { fresh } from '../registry/list.ts';

/** The minimum time for which history is kept, in milliseconds; the maximum is twice that. */
const interval = 5 * 60_000;

/** A key outside the objects, invisible to clients. */
const mark = '/compaction';

export interface CompactionOptions {
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** Called with the number of events dropped from the cache. */
  readonly onForgotten?: (count: number) => void;
  /** The interval in milliseconds. */
  readonly every?: number;
}

/**
 * Compacts history older than one interval in the store and the cache. Watches and paginated lists can continue from anything
 * younger. Servers that share a store share this work: the second finds it done.
 */
export function keepCompacted(cache: WatchCache, options: CompactionOptions): void {
  const { store } = cache;
  let older: number | undefined;
  const timer = setInterval(() => void compact(), options.every ?? interval);
  timer.unref();
  options.signal.addEventListener('abort', () => clearInterval(timer), { once: true });

  async function compact(): Promise<void> {
    try {
      const current = await store.currentRevision();
      const compacted = await store.compactedRevision();
      if (older !== undefined && older > compacted) await store.compact(older);
      options.onForgotten?.(cache.forget(Math.max(compacted, older ?? 0)));
      const isQuiet = older === current;
      older = current;
      if (!isQuiet) return;
      older = await moveOn(store);
      await fresh(cache);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'closed') options.onError(error);
    }
  }
}

/**
 * Writes to the store to advance its revision. Otherwise, in an idle store, continue tokens and versions handed out long ago
 * would have the current revision and never expire.
 */
async function moveOn(store: Store): Promise<number> {
  const held = await store.get(mark);
  try {
    return held === undefined ? await store.create(mark, '{}') : await store.delete(mark, held.revision);
  } catch (error) {
    // Another server has already written it.
    if (error instanceof StoreError && ['exists', 'conflict', 'missing'].includes(error.code)) return store.currentRevision();
    throw error;
  }
}

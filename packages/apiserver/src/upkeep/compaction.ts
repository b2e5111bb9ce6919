import { type Store, StoreError } from '@capstan/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import { fresh } from '../registry/list.ts';

/** How long history is kept at least; at most twice as long. */
const interval = 5 * 60_000;

/** Beside the objects: nobody sees it. */
const mark = '/compaction';

export interface CompactionOptions {
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** Told how many events were let go of. */
  readonly onForgotten?: (count: number) => void;
  /** In milliseconds. */
  readonly every?: number;
}

/**
 * Lets the store and the cache forget history that is older than one interval. Watches and lists in pages can go on from anything younger. Several servers
 * on one store do the same work: the second finds it done.
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

/** Where nobody writes, what was handed out long ago has the revision of what is handed out now, and would never grow old. */
async function moveOn(store: Store): Promise<number> {
  const held = await store.get(mark);
  try {
    return held === undefined ? await store.create(mark, '{}') : await store.delete(mark, held.revision);
  } catch (error) {
    // Another server did it.
    if (error instanceof StoreError && ['exists', 'conflict', 'missing'].includes(error.code)) return store.currentRevision();
    throw error;
  }
}

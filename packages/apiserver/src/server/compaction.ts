import { StoreError } from '@capstan/store';
import type { WatchCache } from '../cache/watch-cache.ts';

/** How long history is kept at least; at most twice as long. */
const interval = 5 * 60_000;

export interface CompactionOptions {
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** In milliseconds. */
  readonly every?: number;
}

/**
 * Lets the store and the cache forget history that is older than one interval. Watches and lists in pages can go on from anything younger. Several servers
 * on one store do the same work: the second finds it done.
 */
export function keepCompacted(cache: Pick<WatchCache, 'store' | 'oldest'>, options: CompactionOptions): void {
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
      cache.oldest = Math.max(compacted, older ?? 0);
      older = current;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'closed') options.onError(error);
    }
  }
}

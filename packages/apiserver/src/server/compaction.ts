import { type Store, StoreError } from '@capstan/store';

/** How long history is kept at least; at most twice as long. */
const interval = 5 * 60_000;

/**
 * Lets the store forget history that is older than one interval. Watches and lists in pages can go on from anything younger. Several servers on one store
 * do the same work: the second finds it done.
 */
export function keepCompacted(store: Store, options: { signal: AbortSignal; onError: (error: unknown) => void; every?: number }): void {
  let older: number | undefined;
  const timer = setInterval(() => void compact(), options.every ?? interval);
  timer.unref();
  options.signal.addEventListener('abort', () => clearInterval(timer), { once: true });

  async function compact(): Promise<void> {
    try {
      const current = await store.currentRevision();
      if (older !== undefined && older > (await store.compactedRevision())) await store.compact(older);
      older = current;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'closed') options.onError(error);
    }
  }
}

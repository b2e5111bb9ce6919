import type { ObjectKey } from '@capstan/kinds';
import { cacheKey, type ResourceCache, type WatchCache } from '../cache/watch-cache.ts';

/** In milliseconds: shorter than clients wait for an answer. */
const longest = 20_000;

/** Waits for pods that are about to be created. One listener serves all who wait. */
export class Arrivals {
  readonly #pods: ResourceCache;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(cache: WatchCache) {
    this.#pods = cache.resource({ group: '', resource: 'pods' });
    this.#pods.listeners.add({
      changed: (events) => {
        if (this.#waiting.size > 0) for (const { entry } of events) for (const arrived of this.#waiting.get(entry.key) ?? []) arrived();
      },
    });
  }

  /** Resolves when the pod exists, and also if it does not come in time or the signal aborts. */
  async wait(place: Pick<ObjectKey, 'cluster' | 'namespace' | 'name'>, signal: AbortSignal): Promise<void> {
    const key = cacheKey(place);
    if (this.#pods.entries.get(key) !== undefined) return;
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        waiting.delete(finish);
        if (waiting.size === 0) this.#waiting.delete(key);
        resolve();
      };
      const timer = setTimeout(finish, longest);
      signal.addEventListener('abort', finish);
      waiting.add(finish);
      if (signal.aborted) finish();
    });
  }
}

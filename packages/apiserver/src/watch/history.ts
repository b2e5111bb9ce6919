import { type Store, StoreError, type StoreEvent } from '@capstan/store';
import { atRevision, CacheEntry } from '../cache/entry.ts';
import type { CacheEvent } from '../cache/event-ring.ts';
import { parseStoreKey } from '../cache/watch-cache.ts';
import type { Resource } from '../registry/resource.ts';
import { storedAs, storeRange } from '../registry/snapshot.ts';

/** Old events of the store. */
export interface History {
  readonly events: readonly CacheEvent[];
  /** There are no others up to this revision. */
  readonly reached: number;
}

interface Watched {
  readonly resource: Resource;
  /** Of the keys in the cache. */
  readonly prefix: string;
  /** Later events are not wanted. */
  readonly until: number;
}

/** Characters of events that are read at once: about as much as a client is sent at a time. */
const mostCharacters = 512 << 10;

/** The next events after a revision, no more than some. Undefined if the store has compacted them. */
export function readHistory(store: Store, { resource, prefix, until }: Watched, after: number): Promise<History | undefined> {
  const isMeant = storedAs(resource);
  return new Promise((resolve, reject) => {
    const events: CacheEvent[] = [];
    let characters = 0;
    const finish = (reached: number): void => {
      watch.close();
      resolve({ events, reached });
    };
    const watch = store.watch(storeRange(resource, prefix), after, {
      events: (batch) => {
        for (const event of batch) {
          if (event.revision > until || !isMeant(parseStoreKey(event.key).resource)) continue;
          // All events of a revision belong together.
          const last = events.at(-1)?.revision ?? 0;
          if (characters > mostCharacters && event.revision > last) return finish(last);
          const made = fromStore(event);
          events.push(made);
          characters += made.entry.text.length;
        }
        if ((batch.at(-1)?.revision ?? 0) >= until) finish(until);
      },
      progress: (revision) => {
        if (revision >= until) finish(until);
      },
      failed: (error) => (error instanceof StoreError && error.code === 'compacted' ? resolve(undefined) : reject(error)),
    });
    watch.requestProgress();
  });
}

function fromStore(event: StoreEvent): CacheEvent {
  const { key } = parseStoreKey(event.key);
  const previous = event.previous && CacheEntry.stored(key, event.previous.value, event.previous.revision);
  if (event.type === 'delete') {
    return {
      type: 'DELETED',
      revision: event.revision,
      entry: new CacheEntry(key, atRevision(previous!.text, event.revision), event.revision),
      previous,
    };
  }
  const entry = CacheEntry.stored(key, event.value, event.revision);
  return { type: previous === undefined ? 'ADDED' : 'MODIFIED', revision: event.revision, entry, previous };
}

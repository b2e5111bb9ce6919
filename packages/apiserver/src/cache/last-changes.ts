import type { GroupResource } from '@capstan/machinery';
import type { CacheEvent } from './event-ring.ts';
import { clusterOfKey } from './key.ts';
import type { ResourceCache, WatchCache } from './watch-cache.ts';

/** How many workspaces are told apart. Beyond, all count as changed once, so that what is remembered stays small. */
const defaultCapacity = 50_000;

/**
 * When objects of some resources last changed in each workspace, as a revision. What was worked out from them in a workspace holds for as long as the number
 * is the same there: it is never the same again after a change.
 */
export class LastChanges {
  readonly #cache: WatchCache;
  readonly #first: ResourceCache;
  readonly #capacity: number;
  readonly #revisions = new Map<string, number>();
  #entries: ResourceCache['entries'];
  /** Workspaces that are not known by themselves last changed here, or earlier. */
  #floor: number;

  constructor(cache: WatchCache, resources: readonly GroupResource[], capacity = defaultCapacity) {
    this.#cache = cache;
    this.#capacity = capacity;
    this.#floor = cache.revision;
    const held = resources.map((resource) => cache.resource(resource));
    this.#first = held[0]!;
    this.#entries = this.#first.entries;
    const listener = { changed: (events: readonly CacheEvent[]) => this.#note(events) };
    for (const { listeners } of held) listeners.add(listener);
  }

  readonly in = (cluster: string): number => {
    // The cache begins with other maps when it has lost touch with the store, and says nothing about what changed meanwhile.
    if (this.#entries !== this.#first.entries) {
      this.#entries = this.#first.entries;
      this.#forget();
    }
    return this.#revisions.get(cluster) ?? this.#floor;
  };

  #note(events: readonly CacheEvent[]): void {
    for (const { entry, revision } of events) this.#revisions.set(clusterOfKey(entry.key), revision);
    if (this.#revisions.size > this.#capacity) this.#forget();
  }

  #forget(): void {
    this.#revisions.clear();
    this.#floor = this.#cache.revision;
  }
}

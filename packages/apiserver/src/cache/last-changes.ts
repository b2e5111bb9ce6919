import type { ClusterId } from '@capstan/api';
import type { GroupResource } from '@capstan/machinery';
import type { CacheEvent } from './event-ring.ts';
import { clusterOfKey } from './key.ts';
import type { ResourceCache, WatchCache } from './watch-cache.ts';

/** How many workspaces are tracked. Beyond that, all of them count as changed once, which bounds the memory. */
const defaultCapacity = 50_000;

/**
 * The revision at which objects of some resources last changed in each workspace. A value computed from them stays valid while
 * the revision of its workspace is the same; revisions never repeat after a change.
 */
export class LastChanges {
  readonly #cache: WatchCache;
  readonly #first: ResourceCache;
  readonly #capacity: number;
  readonly #revisions = new Map<string, number>();
  #entries: ResourceCache['entries'];
  /** The latest possible change of workspaces that are not tracked individually. */
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

  readonly in = (cluster: ClusterId): number => {
    // The cache replaces its maps after losing the connection to the store, and does not report the changes in between.
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

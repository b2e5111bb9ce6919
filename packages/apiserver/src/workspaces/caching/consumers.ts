import type { ApiBinding, ClusterId } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { type BindingFacts, factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import type { CacheEvent } from '../../cache/event-ring.ts';
import { clusterOfKey } from '../../cache/key.ts';
import { endOf, type ResourceCache, type WatchCache } from '../../cache/watch-cache.ts';
import { keyOf, type Offer } from './chain.ts';

/** How many lists of consumers are cached. */
const capacity = 1_000;

/** The workspaces with virtual kinds. Few bindings have any, so only those are searched. */
export class Consumers {
  readonly #cache: WatchCache;
  readonly #held: ResourceCache<ApiBinding>;
  /** By the keys of the bindings; undefined until first used. */
  #virtual: Map<string, CacheEntry<ApiBinding>> | undefined;
  #seen: ResourceCache<ApiBinding>['entries'];
  readonly #lists = new BoundedMap<string, readonly ClusterId[]>(capacity);

  constructor(cache: WatchCache) {
    this.#cache = cache;
    this.#held = cache.resource(apiBindings);
    this.#seen = this.#held.entries;
    this.#held.listeners.add({ changed: (events) => this.#follow(events) });
  }

  isOne(cluster: ClusterId, offer: Offer): boolean {
    let found = false;
    this.#cache.walk(apiBindings, cluster, (entry) => !(found = isOf(factsOf(entry), offer)));
    return found;
  }

  /** The sorted ids of all workspaces that have bound one of the offers. */
  of(offers: readonly Offer[]): readonly ClusterId[] {
    const virtual = this.#all();
    const key = keyOf(offers);
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const found = [...virtual.values()].filter((entry) => offers.some((offer) => isOf(factsOf(entry), offer)));
    const clusters = [...new Set(found.map((entry) => clusterOfKey(entry.key)))].sort();
    this.#lists.set(key, clusters);
    return clusters;
  }

  #all(): Map<string, CacheEntry<ApiBinding>> {
    // The cache starts with a new map after it lost its connection to the store.
    if (this.#virtual !== undefined && this.#seen === this.#held.entries) return this.#virtual;
    const virtual = new Map<string, CacheEntry<ApiBinding>>();
    this.#seen = this.#held.entries;
    this.#lists.clear();
    this.#seen.walk('', endOf(''), (entry) => {
      if (isVirtual(entry)) virtual.set(entry.key, entry);
      return true;
    });
    this.#virtual = virtual;
    return virtual;
  }

  #follow(events: readonly CacheEvent<ApiBinding>[]): void {
    if (this.#virtual === undefined) return;
    for (const { type, entry } of events) {
      const isOne = type !== 'DELETED' && isVirtual(entry);
      if (!isOne && !this.#virtual.has(entry.key)) continue;
      this.#lists.clear();
      if (isOne) this.#virtual.set(entry.key, entry);
      else this.#virtual.delete(entry.key);
    }
  }
}

const isVirtual = (entry: CacheEntry<ApiBinding>): boolean => factsOf(entry).bound.some((one) => one.isVirtual === true);

function isOf({ provider, exportName, bound }: BindingFacts, offer: Offer): boolean {
  if (provider !== offer.provider || exportName !== offer.exportName) return false;
  return bound.some(
    ({ group, resource, identity, isVirtual: virtual }) =>
      virtual === true && group === offer.group && resource === offer.resource && identity === offer.identity,
  );
}

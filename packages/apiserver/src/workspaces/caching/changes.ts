import type { ApiBinding, ApiExport, CachedResource, ClusterId, StoredKind } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import type { CacheEvent } from '../../cache/event-ring.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import { cachedResourceSlices, cachedResources } from './names.ts';

/** Changes of what a workspace publishes. */
export const publishedName = (provider: ClusterId): string => `published/${provider}/`;
/** Changes of the virtual kinds that a workspace has bound. */
export const consumerName = (cluster: ClusterId): string => `consumer/${cluster}/`;
/** Changes of who has bound what a workspace publishes. */
export const consumersName = (provider: ClusterId): string => `consumers/${provider}/`;

/** How many names are cached. */
const capacity = 10_000;

/**
 * Records when other objects were published, or to other workspaces, without any object being written. No event reports this, so watches
 * that started earlier must start over.
 */
export class PublishedChanges {
  readonly #cache: WatchCache;
  readonly #revisions = new Map<string, number>();
  /** Earlier changes are unknown. */
  #floor: number;
  #seen: ResourceCache<ApiBinding>['entries'];
  /** Called on every change. */
  readonly listeners = new Set<(name: string, revision: number) => void>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
    this.#floor = cache.revision;
    this.#seen = cache.resource(apiBindings).entries;
    this.#follow(cachedResources, publication);
    this.#follow(cachedResourceSlices, ({ object }) => JSON.stringify(object.spec));
    this.#follow(apiExports, virtualOffers);
    cache.resource(apiBindings).listeners.add({
      changed: (events) => {
        for (const event of events) if (differs(event, boundVirtually)) this.#consumerChanged(event);
      },
    });
  }

  /** The revision of the last change of any of these names. */
  since(names: readonly string[]): number {
    const { entries } = this.#cache.resource(apiBindings);
    // The cache starts with a new map after it lost its connection to the store, and changes in between were missed.
    if (entries !== this.#seen) {
      this.#seen = entries;
      this.#floor = this.#cache.revision;
    }
    return Math.max(this.#floor, ...names.map((name) => this.#revisions.get(name) ?? 0));
  }

  #follow<T extends KubeObject>(resource: StoredKind<T>, what: (entry: CacheEntry<T>) => string): void {
    this.#cache.resource(resource).listeners.add({
      changed: (events) => {
        for (const event of events) if (differs(event, what)) this.#note(publishedName(clusterOfKey(event.entry.key)), event.revision);
      },
    });
  }

  #consumerChanged({ entry, previous, revision }: CacheEvent<ApiBinding>): void {
    this.#note(consumerName(clusterOfKey(entry.key)), revision);
    for (const binding of [entry, previous]) {
      const provider = binding === undefined ? '' : factsOf(binding).provider;
      if (provider !== '') this.#note(consumersName(provider), revision);
    }
  }

  #note(name: string, revision: number): void {
    if (this.#revisions.size >= capacity) {
      this.#revisions.clear();
      this.#floor = revision;
    }
    this.#revisions.set(name, revision);
    for (const listener of this.listeners) listener(name, revision);
  }
}

/** New and deleted objects differ too, unless their description is empty. */
function differs<T extends KubeObject>({ type, entry, previous }: CacheEvent<T>, what: (entry: CacheEntry<T>) => string): boolean {
  const now = type === 'DELETED' ? '' : what(entry);
  return now !== (previous === undefined ? '' : what(previous));
}

/** The parts of a CachedResource that determine what is published, without its counters. */
function publication({ object: { metadata, spec, status } }: CacheEntry<CachedResource>): string {
  return JSON.stringify([spec, status?.identityHash, metadata.deletionTimestamp]);
}

function virtualOffers({ object: { spec, status } }: CacheEntry<ApiExport>): string {
  const offers = (spec?.resources ?? []).filter(({ storage }) => storage?.virtual !== undefined);
  return offers.length === 0 ? '' : JSON.stringify([offers, status?.identityHash]);
}

function boundVirtually(entry: CacheEntry<ApiBinding>): string {
  const virtual = factsOf(entry).bound.filter(({ isVirtual }) => isVirtual === true);
  return virtual.length === 0 ? '' : JSON.stringify(virtual);
}

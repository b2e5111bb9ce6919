import type { ClusterId, StoredKind } from '@capstan/api';
import type { ObjectKey, ObjectReader } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import { prefixRange, type Range, type Store, type StoreError, type StoreEvent, type Watch } from '@capstan/store';
import { atRevision, CacheEntry } from './entry.ts';
import { type CacheEvent, EventRing } from './event-ring.ts';
import type { EntryReader, Unparsed } from './reader.ts';
import { SortedMap } from './sorted-map.ts';
import { StoredSizes } from './stored-sizes.ts';
import { isUnion, type StoredEvent, Unions } from './unions.ts';

const registry = '/registry/';
/** The range that contains the keys of all objects. */
export const registryRange: Range = prefixRange(registry);

/** Receives every event of one resource, in order, synchronously, once per commit. */
export interface CacheListener<T extends KubeObject = KubeObject> {
  changed(events: readonly CacheEvent<T>[]): void;
}

/** Receives every event of every resource. Resources are named `group/resource`, with `core` for the group without a name. */
export type CacheFollower = (resource: string, events: readonly CacheEvent[]) => void;

/** Kinds that exist in every workspace and that the server reads only occasionally, because it caches what it derives from them. */
const passing: ReadonlySet<string> = new Set([
  'core.kcp.io/logicalclusters',
  'rbac.authorization.k8s.io/clusterroles',
  'rbac.authorization.k8s.io/clusterrolebindings',
  'rbac.authorization.k8s.io/roles',
  'rbac.authorization.k8s.io/rolebindings',
]);

/** All objects of one resource in all workspaces. */
export class ResourceCache<T extends KubeObject = KubeObject> {
  /** The stored `group/resource`. */
  readonly name: string;
  entries = new SortedMap<CacheEntry<T>>();
  readonly ring: EventRing;
  readonly listeners = new Set<CacheListener<T>>();
  generation = 0;
  /** Writes of this server that have not come back through the watch yet. Empty if the commit itself updates the cache. */
  readonly ahead = new Map<string, CacheEntry<T>>();
  readonly #isPassing: boolean;

  constructor(name: string, ring: EventRing) {
    this.name = name;
    this.ring = ring;
    this.#isPassing = passing.has(name);
  }

  /** The parsed object of an entry, for the server's own use. Do not modify it. */
  objectOf(entry: CacheEntry<T>): T {
    return this.#isPassing ? entry.passingObject : entry.object;
  }

  clear(): void {
    this.entries = new SortedMap();
  }

  /** The newest version known to this server: the base of the next change. Reads use `entries`, so that they see a consistent state. */
  newest(key: string): CacheEntry<T> | undefined {
    const seen = this.entries.get(key);
    if (this.ahead.size === 0) return seen;
    const written = this.ahead.get(key);
    return written !== undefined && (seen === undefined || written.revision > seen.revision) ? written : seen;
  }
}

export interface WatchCacheOptions {
  readonly store: Store;
  readonly maxEvents?: number;
  readonly maxEventBytes?: number;
  /**
   * Called when the cache has lost the connection to the store, before it is rebuilt: watchers have missed events and must start
   * again. Reads that need the newest state wait for the rebuild.
   */
  readonly onLost: (error: StoreError) => void;
}

/**
 * All objects, in memory, as of `revision` of the store. It follows a single watch over the whole store; reads that need a newer
 * state wait for `atLeast`.
 */
export class WatchCache implements ObjectReader, EntryReader, Disposable {
  readonly store: Store;
  /** States before this revision are expired, even if the cache still has them: clients rely on old pages expiring. */
  oldest = 0;
  readonly #options: WatchCacheOptions;
  readonly #resources = new Map<string, ResourceCache>();
  /** How much each workspace stores. */
  readonly sizes = new StoredSizes();
  readonly #unions = new Unions();
  readonly #followers = new Set<CacheFollower>();
  #loadedAt = 0;
  #revision = 0;
  #waiting: { revision: number; resolve: () => void }[] = [];
  #watch: Watch | undefined;
  #disposed = false;

  private constructor(options: WatchCacheOptions) {
    this.store = options.store;
    this.#options = options;
  }

  static async load(options: WatchCacheOptions): Promise<WatchCache> {
    const cache = new WatchCache(options);
    await cache.#load();
    return cache;
  }

  /** Every event up to this revision has been applied. */
  get revision(): number {
    return this.#revision;
  }

  get objectCount(): number {
    let total = 0;
    for (const resource of this.#resources.values()) total += resource.entries.size;
    return total;
  }

  /** The number of objects of all kinds in a workspace. */
  countIn(cluster: ClusterId): number {
    const [start, end] = [`${cluster}/`, endOf(`${cluster}/`)];
    let total = 0;
    for (const resource of this.#resources.values()) total += resource.entries.count(start, end);
    return total;
  }

  resource<T extends KubeObject = KubeObject>({ group, resource }: StoredKind<T>): ResourceCache<T> {
    return this.#resourceAt(`${group === '' ? 'core' : group}/${resource}`) as ResourceCache as ResourceCache<T>;
  }

  /** Every resource that has ever had an object. */
  resources(): Iterable<readonly [string, ResourceCache]> {
    return this.#resources;
  }

  followAll(follower: CacheFollower): void {
    this.#followers.add(follower);
  }

  get<T extends KubeObject = KubeObject>(at: ObjectKey<T>): T | undefined {
    const held = this.resource(at);
    const entry = held.entries.get(cacheKey(at));
    return entry && held.objectOf(entry);
  }

  list<T extends KubeObject = KubeObject>(resource: StoredKind<T>, cluster: ClusterId, namespace?: string): T[] {
    const prefix = namespace === undefined ? `${cluster}/` : `${cluster}/${namespace}/`;
    const found: T[] = [];
    const held = this.resource(resource);
    held.entries.walk(prefix, endOf(prefix), (entry) => {
      found.push(held.objectOf(entry));
      return true;
    });
    return found;
  }

  unparsed(at: ObjectKey): Unparsed | undefined {
    const held = this.resource(at);
    const entry = held.entries.get(cacheKey(at));
    return entry && unparsedOf(held, entry);
  }

  eachUnparsed(
    resource: StoredKind<KubeObject>,
    { cluster, namespace }: Pick<ObjectKey, 'cluster' | 'namespace'>,
    visit: (object: Unparsed) => boolean,
  ): void {
    const prefix = `${cluster}/${namespace}/`;
    const held = this.resource(resource);
    held.entries.walk(prefix, endOf(prefix), (entry) => visit(unparsedOf(held, entry)));
  }

  walk<T extends KubeObject = KubeObject>(resource: StoredKind<T>, cluster: ClusterId, visit: (entry: CacheEntry<T>) => boolean): void {
    const prefix = `${cluster}/`;
    this.resource(resource).entries.walk(prefix, endOf(prefix), visit);
  }

  generation(resource: GroupResource): number {
    return this.resource(resource).generation;
  }

  /** Drops the history before a revision; returns the number of events dropped. */
  forget(revision: number): number {
    this.oldest = revision;
    let count = 0;
    for (const resource of this.#resources.values()) count += resource.ring.forget(revision);
    return count;
  }

  /** Resolves when everything up to the revision has been applied; undefined if it already has. */
  atLeast(revision: number): Promise<void> | undefined {
    if (revision <= this.#revision) return undefined;
    this.#watch?.requestProgress();
    return new Promise((resolve) => this.#waiting.push({ revision, resolve }));
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#watch?.close();
  }

  /** Reads the whole store at one revision, replaces the previous content, and follows the store from that revision. */
  async #load(): Promise<void> {
    const loaded = new Map<string, SortedMap<CacheEntry>>();
    let start = registryRange.start;
    let revision: number | undefined;
    for (;;) {
      const page = await this.store.list({ start, end: registryRange.end }, { limit: 2000, ...(revision !== undefined && { revision }) });
      revision = page.revision;
      for (const entry of page.entries) {
        const place = parseStoreKey(entry.key);
        let entries = loaded.get(place.resource);
        if (entries === undefined) loaded.set(place.resource, (entries = new SortedMap()));
        entries.set(CacheEntry.stored(place.key, entry.value, entry.revision));
      }
      if (page.remaining === 0) break;
      start = `${page.entries.at(-1)!.key}\0`;
    }
    this.#revision = revision;
    this.#loadedAt = revision;
    for (const name of loaded.keys()) this.#resourceAt(name);
    this.sizes.clear();
    for (const [name, resource] of this.#resources) {
      resource.entries = loaded.get(name) ?? new SortedMap();
      resource.entries.walk('', endOf(''), ({ key, text }) => {
        this.sizes.change(key, text.length);
        return true;
      });
      resource.ring.startAt(revision);
      resource.generation++;
      resource.ahead.clear();
    }
    this.#unions.reload(this.#resources, revision);
    this.#release();
    this.#watch = this.store.watch(registryRange, revision, {
      // The cache has the previous version.
      withoutPrevious: true,
      events: (batch) => this.#apply(batch),
      progress: (seen) => this.#advance(seen),
      failed: (error) => void this.#lost(error),
    });
  }

  async #lost(error: StoreError): Promise<void> {
    if (this.#disposed || error.code === 'closed') return;
    this.#options.onLost(error);
    for (let wait = 100; !this.#disposed; wait = Math.min(wait * 2, 10_000)) {
      try {
        return await this.#load();
      } catch {
        // The store is unavailable: its own health check reports why, and we try again.
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  #ring(): EventRing {
    return new EventRing({
      after: this.#loadedAt,
      maxEvents: this.#options.maxEvents ?? 50_000,
      maxBytes: this.#options.maxEventBytes ?? 16 << 20,
    });
  }

  #resourceAt(name: string): ResourceCache {
    if (isUnion(name)) return this.#unions.get(name) ?? this.#unions.add(new ResourceCache(name, this.#ring()), this.#resources);
    let found = this.#resources.get(name);
    if (found === undefined) {
      found = new ResourceCache(name, this.#ring());
      this.#resources.set(name, found);
    }
    return found;
  }

  #apply(batch: readonly StoreEvent[]): void {
    const changed = new Map<ResourceCache, CacheEvent[]>();
    const united: StoredEvent[] | undefined = this.#unions.isEmpty ? undefined : [];
    for (const event of batch) {
      const place = parseStoreKey(event.key);
      const resource = this.#resourceAt(place.resource);
      const cached = applyEvent(resource, place.key, event);
      if (cached === undefined) continue;
      const isGone = cached.type === 'DELETED';
      this.sizes.change(place.key, (isGone ? 0 : cached.entry.text.length) - (cached.previous?.text.length ?? 0));
      resource.ring.push(cached);
      resource.generation++;
      united?.push({ stored: resource.name, event: cached });
      const list = changed.get(resource);
      if (list === undefined) changed.set(resource, [cached]);
      else list.push(cached);
    }
    this.#revision = Math.max(this.#revision, batch.at(-1)?.revision ?? 0);
    if (united !== undefined) this.#unions.apply(united);
    for (const [resource, events] of changed) {
      for (const listener of resource.listeners) listener.changed(events);
      for (const follower of this.#followers) follower(resource.name, events);
    }
    this.#release();
  }

  #advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#release();
  }

  #release(): void {
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((waiter) => waiter.revision <= this.#revision);
    this.#waiting = this.#waiting.filter((waiter) => waiter.revision > this.#revision);
    for (const waiter of ready) waiter.resolve();
  }
}

function applyEvent(resource: ResourceCache, key: string, event: StoreEvent): CacheEvent | undefined {
  if (resource.ahead.size > 0 && (resource.ahead.get(key)?.revision ?? Number.POSITIVE_INFINITY) <= event.revision)
    resource.ahead.delete(key);
  if (event.type === 'delete') {
    const previous = resource.entries.delete(key);
    if (previous === undefined) return undefined;
    const entry = new CacheEntry(key, atRevision(previous.text, event.revision), event.revision);
    return { type: 'DELETED', revision: event.revision, entry, previous };
  }
  const previous = resource.entries.get(key);
  const entry = CacheEntry.stored(key, event.value, event.revision);
  resource.entries.set(entry);
  return { type: previous === undefined ? 'ADDED' : 'MODIFIED', revision: event.revision, entry, previous };
}

const unparsedOf = (held: ResourceCache, entry: CacheEntry): Unparsed => ({ length: entry.text.length, read: () => held.objectOf(entry) });

/** The cache key of an object. */
export function cacheKey({ cluster, namespace, name }: Pick<ObjectKey, 'cluster' | 'namespace' | 'name'>): string {
  return `${cluster}/${namespace}/${name}`;
}

/** The store key of an object. The workspace comes first, so that a workspace is a single range. */
export function storeKey({ cluster, group, resource, namespace, name }: ObjectKey): string {
  return `${registry}${cluster}/${group === '' ? 'core' : group}/${resource}/${namespace}/${name}`;
}

export function parseStoreKey(key: string): { resource: string; key: string } {
  const cluster = key.indexOf('/', registry.length);
  const group = key.indexOf('/', cluster + 1);
  const resource = key.indexOf('/', group + 1);
  return { resource: key.slice(cluster + 1, resource), key: key.slice(registry.length, cluster) + key.slice(resource) };
}

/** The first key after all keys with the prefix; after all keys if it is empty. */
export function endOf(prefix: string): string {
  return prefix === '' ? '\u{10ffff}' : prefixRange(prefix).end;
}

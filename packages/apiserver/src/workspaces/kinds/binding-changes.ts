import type { ApiBinding, ClusterId } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import { originOf } from '../../registry/resource.ts';

/** How many workspaces are remembered. */
const capacity = 5_000;

/** The bindings of a workspace. */
interface Changes {
  /** Of its newest binding. Known without reading any of them: most objects are newer. */
  readonly newest: number;
  /** The revision of the binding that brings the kinds of an identity. */
  revisions: ReadonlyMap<string, number> | undefined;
}

/**
 * When the bindings of workspaces changed last. An object that was written before may not match the schema that is bound now: the export was upgraded or
 * rolled back.
 */
export class BindingChanges {
  readonly #cache: WatchCache;
  readonly #held: ResourceCache<ApiBinding>;
  readonly #known = new BoundedMap<string, Changes>(capacity);
  #seen: ResourceCache<ApiBinding>['entries'];
  /** No binding changed after this revision. */
  #newest: number;
  /** The workspace that was asked about last, with the beginning of its keys: most lists are of one workspace. */
  #last: { readonly beginning: string; readonly changes: Changes } | undefined;

  constructor(cache: WatchCache) {
    this.#cache = cache;
    this.#held = cache.resource(apiBindings);
    this.#seen = this.#held.entries;
    this.#newest = cache.revision;
    this.#held.listeners.add({
      changed: (events) => {
        for (const { entry } of events) {
          this.#known.delete(clusterOfKey(entry.key));
          this.#newest = Math.max(this.#newest, entry.revision);
        }
        this.#last = undefined;
      },
    });
  }

  /** Whether an object of a bound kind was written before its workspace got the schema that it has now. */
  isOlder(entry: CacheEntry, identity: string): boolean {
    // The cache starts with a new map after it lost its connection to the store.
    if (this.#seen !== this.#held.entries) {
      this.#seen = this.#held.entries;
      this.#known.clear();
      this.#last = undefined;
      this.#newest = this.#cache.revision;
    }
    if (entry.revision > this.#newest) return false;
    if (this.#isOlder(entry, entry, identity)) return true;
    const origin = originOf(entry);
    return origin !== entry && this.#isOlder(entry, origin, identity);
  }

  /** Objects that are shown in another workspace have the form that their own one wants. */
  #isOlder({ revision }: CacheEntry, { key }: CacheEntry, identity: string): boolean {
    const changes = this.#last !== undefined && key.startsWith(this.#last.beginning) ? this.#last.changes : this.#in(clusterOfKey(key));
    if (revision > changes.newest) return false;
    changes.revisions ??= this.#revisionsIn(clusterOfKey(key));
    return revision <= (changes.revisions.get(identity) ?? 0);
  }

  #in(cluster: ClusterId): Changes {
    let changes = this.#known.get(cluster);
    if (changes === undefined) this.#known.set(cluster, (changes = { newest: this.#newestIn(cluster), revisions: undefined }));
    this.#last = { beginning: `${cluster}/`, changes };
    return changes;
  }

  #newestIn(cluster: ClusterId): number {
    let newest = 0;
    this.#cache.walk(apiBindings, cluster, ({ revision }) => {
      newest = Math.max(newest, revision);
      return true;
    });
    return newest;
  }

  #revisionsIn(cluster: ClusterId): ReadonlyMap<string, number> {
    const revisions = new Map<string, number>();
    this.#cache.walk(apiBindings, cluster, (entry) => {
      for (const { identity } of factsOf(entry).bound) revisions.set(identity, Math.max(entry.revision, revisions.get(identity) ?? 0));
      return true;
    });
    return revisions;
  }
}

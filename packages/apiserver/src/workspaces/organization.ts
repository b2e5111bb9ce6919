import { type LogicalCluster, logicalClusterName, rootCluster } from '@capstan/api';
import type { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { logicalClusters, workspaces } from './tree.ts';

/** More than any tree has: paths are limited in length. */
const deepest = 256;

/**
 * Finds the organization of a workspace: the workspace below root that it is in, or is. A home workspace is its own organization, like one whose
 * parents are gone.
 */
export class Organizations {
  readonly #cache: WatchCache;
  /** The parent of a workspace never changes. */
  readonly #known = new WeakMap<CacheEntry<LogicalCluster>, string>();

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  readonly of = (cluster: string): string => {
    const entry = this.#entry(cluster);
    if (entry === undefined) return cluster;
    let found = this.#known.get(entry);
    if (found === undefined) this.#known.set(entry, (found = this.#search(cluster)));
    return found;
  };

  #search(cluster: string): string {
    let current = cluster;
    for (let depth = 0; depth < deepest; depth++) {
      const parent = this.#entry(current)?.passingObject.spec?.owner?.cluster;
      if (parent === undefined || parent === '' || parent === rootCluster || this.#entry(parent) === undefined) return current;
      current = parent;
    }
    return cluster;
  }

  /** How many workspaces there are in all organizations. */
  get total(): number {
    return this.#cache.resource(workspaces).entries.size;
  }

  /** How many workspaces are in an organization, without itself. Looks at all workspaces. */
  count(organization: string): number {
    let count = 0;
    this.#cache.resource(workspaces).entries.walk('', '\uffff', (entry) => {
      const parent = clusterOfKey(entry.key);
      if (parent !== rootCluster && this.of(parent) === organization) count++;
      return true;
    });
    return count;
  }

  #entry(cluster: string): CacheEntry<LogicalCluster> | undefined {
    return this.#cache.resource(logicalClusters).entries.get(`${cluster}//${logicalClusterName}`);
  }
}

import {
  adminCluster,
  boundSchemasCluster,
  type ClusterId,
  groupResource,
  inactiveAnnotation,
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  rootCluster,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { homeClusterId } from '@capstan/api/hashes';
import type { ObjectReader } from '@capstan/kinds';
import type { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { WatchCache } from '../cache/watch-cache.ts';

export const logicalClusters = groupResource(logicalClusterKind);
export const workspaces = groupResource(workspaceKind);

const ids = new WeakMap<CacheEntry<Workspace>, string>();

/** Resolves the paths of workspaces. It reads the cache and has no state of its own. */
export class Tree {
  readonly #cache: WatchCache;

  constructor(cache: WatchCache) {
    this.#cache = cache;
  }

  /** The id of the workspace at a path; undefined if there is none. A path begins with `root`, an id, or `user:<name>`. */
  resolve(path: string): ClusterId | undefined {
    if (path === boundSchemasCluster) return boundSchemasCluster;
    if (path === adminCluster) return adminCluster;
    const { first, names } = beginningOf(path);
    let id = first;
    const children = names.length === 0 ? undefined : this.#cache.resource(workspaces).entries;
    for (const name of names) {
      const entry = children!.get(`${id}//${name}`);
      if (entry === undefined) return undefined;
      id = clusterOf(entry);
      if (id === '') return undefined;
    }
    if (id === rootCluster) return rootCluster;
    // A substring of a request keeps the whole request in memory, and ids are kept for long, so return the cache's own string.
    const entry = this.#logicalCluster(id);
    return entry && clusterOfKey(entry.key);
  }

  /** Whether a workspace is marked inactive: it can only be entered to reactivate it. */
  isInactive(id: string): boolean {
    const entry = this.#logicalCluster(id);
    return entry?.text.includes(inactiveAnnotation) === true && entry.object.metadata.annotations?.[inactiveAnnotation] === 'true';
  }

  exists(id: string): boolean {
    return id === rootCluster || this.#logicalCluster(id) !== undefined;
  }

  #logicalCluster(id: string): CacheEntry<LogicalCluster> | undefined {
    return this.#cache.resource(logicalClusters).entries.get(`${id}//${logicalClusterName}`);
  }
}

/** `user:<name>` is the home workspace of a user. */
export function beginningOf(path: string): { first: string; names: string[] } {
  const [first = '', ...names] = path.split(':');
  if (first !== 'user' || names.length === 0) return { first, names };
  return { first: homeClusterId(names[0]!), names: names.slice(1) };
}

/** The id of the workspace of a Workspace object; empty until it has one. */
export function clusterOf(entry: CacheEntry<Workspace>): string {
  let id = ids.get(entry);
  if (id === undefined) {
    ids.set(entry, (id = entry.parse().spec?.cluster ?? ''));
  }
  return id;
}

/** The logical cluster object of a workspace. */
export function logicalClusterOf(objects: ObjectReader, cluster: ClusterId): LogicalCluster | undefined {
  return objects.get({ ...logicalClusters, cluster, namespace: '', name: logicalClusterName });
}

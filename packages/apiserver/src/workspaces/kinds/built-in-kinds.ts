import { builtInKindsAnnotation, type ClusterId, logicalClusterName, rootCluster, typeAnnotation } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import { type Catalog, type CustomKinds, isBuiltinKind } from '../../registry/catalog.ts';
import { podMetricsGroup } from '../../registry/pod-metrics.ts';
import { logicalClusters, type Tree } from '../tree.ts';
import { WorkspaceTypes, workspaceTypes } from '../types/workspace-types.ts';
import { type KindName, namesKind, parseKindNames } from './kind-names.ts';
import { isTenantKind } from './tenant-kinds.ts';

/** Some of Kubernetes' kinds. Workspaces that serve the same ones share it. */
export interface KindSet {
  has(group: string, resource: string): boolean;
  readonly catalog: Catalog;
}

/** How many types are remembered. */
const capacity = 1_000;

/** A quotation mark inside a value is escaped, so that this text can only be the annotation itself. */
const beforeType = `"${typeAnnotation}":"`;

/** The set of a type, shared by all workspaces of the type. */
interface Held {
  /** The type, as `path:name`; undefined for workspaces without one. */
  readonly type: string | undefined;
  set: KindSet;
  generation: number;
}

/**
 * The kinds of Kubernetes that each workspace serves: all in the root workspace; elsewhere those that every workspace has, and those that its type
 * names. There is one set for each type. Which type a workspace has is remembered with the cached LogicalCluster, and forgotten with it.
 */
export class BuiltInKinds {
  readonly #cache: WatchCache;
  readonly #catalog: Catalog;
  readonly #system: CustomKinds;
  readonly #types: WorkspaceTypes;
  readonly #root: KindSet;
  readonly #base: KindSet;
  readonly #clusters: ResourceCache;
  readonly #typeObjects: ResourceCache;
  readonly #ofEntry = new WeakMap<CacheEntry, Held>();
  /** By the type of the workspace, as in its annotation. */
  readonly #byType = new BoundedMap<string, Held>(capacity);
  /** Sets by the names of their kinds. */
  readonly #byContent = new Map<string, KindSet>();

  constructor({ cache, catalog, system, tree }: { cache: WatchCache; catalog: Catalog; system: CustomKinds; tree: Tree }) {
    this.#cache = cache;
    this.#catalog = catalog;
    this.#system = system;
    this.#types = new WorkspaceTypes({ objects: cache, tree });
    this.#root = { catalog, has: (group, resource) => isBuiltinKind(catalog, group, resource) };
    this.#base = this.#setOf([]);
    this.#clusters = this.#cache.resource(logicalClusters);
    this.#typeObjects = this.#cache.resource(workspaceTypes);
  }

  in(cluster: ClusterId): KindSet {
    if (cluster === rootCluster) return this.#root;
    const entry = this.#clusters.entries.get(`${cluster}//${logicalClusterName}`);
    if (entry === undefined) return this.#base;
    let held = this.#ofEntry.get(entry);
    if (held === undefined) this.#ofEntry.set(entry, (held = this.#heldFor(typeIn(entry.text))));
    const { generation } = this.#typeObjects;
    if (held.generation !== generation) {
      held.set = held.type === undefined ? this.#base : this.#setOf(this.#namedBy(held.type));
      held.generation = generation;
    }
    return held.set;
  }

  #heldFor(type: string | undefined): Held {
    let held = this.#byType.get(type ?? '');
    if (held === undefined) this.#byType.set(type ?? '', (held = { type, set: this.#base, generation: -1 }));
    return held;
  }

  /** The kinds that the type and those that it extends name. Only types of the root workspace can: the others belong to tenants. */
  #namedBy(text: string): KindName[] {
    const colon = text.lastIndexOf(':');
    const type = this.#types.at({ path: text.slice(0, colon), name: text.slice(colon + 1) });
    if (type === undefined) return [];
    let all: ReturnType<WorkspaceTypes['withInherited']>;
    try {
      all = this.#types.withInherited(type);
    } catch {
      // A type that it extends is missing: the workspace keeps what its own type names.
      all = [type];
    }
    return all
      .filter(({ cluster }) => cluster === rootCluster)
      .flatMap(({ annotations }) => parseKindNames(annotations[builtInKindsAnnotation]));
  }

  #setOf(names: readonly KindName[]): KindSet {
    const key = [...new Set(names.map(({ group, resource }) => `${resource}.${group}`))].sort().join(',');
    let set = this.#byContent.get(key);
    if (set === undefined) {
      const has = (group: string, resource: string): boolean => isTenantKind(group, resource) || namesKind(names, group, resource);
      const catalog = this.#catalog.only(has, this.#system);
      // Pods of other workspaces than the root show units.
      const pods = catalog.resource('', 'v1', 'pods');
      this.#byContent.set(key, (set = { has, catalog: pods === undefined ? catalog : catalog.plus(podMetricsGroup(pods)) }));
    }
    return set;
  }
}

/** The type in the text of a LogicalCluster, as `path:name`; undefined if it has none. */
function typeIn(text: string): string | undefined {
  const at = text.indexOf(beforeType);
  if (at < 0) return undefined;
  const start = at + beforeType.length;
  return text.slice(start, text.indexOf('"', start));
}

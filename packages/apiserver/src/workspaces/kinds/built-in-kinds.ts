import { builtInKindsAnnotation, logicalClusterName, rootCluster, typeAnnotation } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import { type Catalog, type CustomKinds, isBuiltinKind } from '../../registry/catalog.ts';
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

/**
 * The kinds of Kubernetes that each workspace serves: all in the root workspace; elsewhere those that every workspace has, and those that its type
 * names. Nothing is kept per workspace: the type is read from the LogicalCluster, and sets are kept per type.
 */
export class BuiltInKinds {
  readonly #cache: WatchCache;
  readonly #catalog: Catalog;
  readonly #system: CustomKinds;
  readonly #types: WorkspaceTypes;
  readonly #root: KindSet;
  readonly #base: KindSet;
  /** Sets by the type of the workspace, as in its annotation. */
  readonly #byType = new BoundedMap<string, KindSet>(capacity);
  /** Sets by the names of their kinds. */
  readonly #byContent = new Map<string, KindSet>();
  #seen: ResourceCache['entries'];

  constructor({ cache, catalog, system, tree }: { cache: WatchCache; catalog: Catalog; system: CustomKinds; tree: Tree }) {
    this.#cache = cache;
    this.#catalog = catalog;
    this.#system = system;
    this.#types = new WorkspaceTypes({ objects: cache, tree });
    this.#root = { catalog, has: (group, resource) => isBuiltinKind(catalog, group, resource) };
    this.#base = this.#setOf([]);
    const held = cache.resource(workspaceTypes);
    this.#seen = held.entries;
    held.listeners.add({ changed: () => this.#byType.clear() });
  }

  in(cluster: string): KindSet {
    if (cluster === rootCluster) return this.#root;
    const type = this.#typeOf(cluster);
    if (type === undefined) return this.#base;
    const held = this.#cache.resource(workspaceTypes).entries;
    if (held !== this.#seen) {
      // The cache starts with a new map after it lost its connection to the store.
      this.#seen = held;
      this.#byType.clear();
    }
    let known = this.#byType.get(type);
    if (known === undefined) this.#byType.set(type, (known = this.#setOf(this.#namedBy(type))));
    return known;
  }

  /** The type of a workspace, as `path:name`; undefined if it has none. Called on every request, so nothing is parsed. */
  #typeOf(cluster: string): string | undefined {
    const text = this.#cache.resource(logicalClusters).entries.get(`${cluster}//${logicalClusterName}`)?.text;
    const at = text === undefined ? -1 : text.indexOf(beforeType);
    if (at < 0) return undefined;
    const start = at + beforeType.length;
    return text!.slice(start, text!.indexOf('"', start));
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
      this.#byContent.set(key, (set = { has, catalog: this.#catalog.only(has, this.#system) }));
    }
    return set;
  }
}

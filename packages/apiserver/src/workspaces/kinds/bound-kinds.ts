import type { ClusterId } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { Bindings } from '../../bindings/bindings.ts';
import { apiBindings, type BoundResource } from '../../bindings/bound-resources.ts';
import type { CacheEvent } from '../../cache/event-ring.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { ResourceCache, WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import type { KindSource } from './kinds-by-workspace.ts';

/** How many workspaces, and how many sets of bound kinds, are cached. */
const capacity = 20_000;

/** The kinds that workspaces have through APIBindings. Workspaces with equal bindings share one set. */
export class BoundKinds implements KindSource {
  readonly #held: ResourceCache;
  readonly #definition: (bound: BoundResource) => Definition | undefined;
  readonly #workspaces = new BoundedMap<string, WorkspaceKinds | undefined>(capacity);
  readonly #sets = new BoundedMap<string, WorkspaceKinds>(capacity);
  #seen: ResourceCache['entries'];
  readonly #bindings: Bindings;
  /** Called with each workspace whose bindings changed. */
  readonly listeners = new Set<(cluster: ClusterId) => void>();

  constructor(options: { cache: WatchCache; definition: (bound: BoundResource) => Definition | undefined }) {
    this.#bindings = new Bindings(options.cache);
    this.#definition = options.definition;
    this.#held = options.cache.resource(apiBindings);
    this.#seen = this.#held.entries;
    this.#held.listeners.add({ changed: (events) => this.#forget(events) });
  }

  in(cluster: ClusterId): WorkspaceKinds | undefined {
    // The cache starts with a new map after it lost its connection to the store.
    if (this.#seen !== this.#held.entries) this.forgetAll();
    if (this.#workspaces.has(cluster)) return this.#workspaces.get(cluster);
    const { kinds, isComplete } = this.#read(cluster);
    if (isComplete) this.#workspaces.set(cluster, kinds);
    return kinds;
  }

  /** To be called when the definitions have changed. */
  forgetAll(): void {
    this.#seen = this.#held.entries;
    this.#workspaces.clear();
    this.#sets.clear();
  }

  /** To be called when these definitions are out of date. */
  readonly forget = (definitions: readonly Definition[]): void => {
    const stale = (kinds: WorkspaceKinds): boolean => definitions.some((one) => kinds.get(one.group, one.plural) === one);
    for (const [key, kinds] of this.#sets) if (stale(kinds)) this.#sets.delete(key);
    for (const [cluster, kinds] of this.#workspaces) if (kinds !== undefined && stale(kinds)) this.#workspaces.delete(cluster);
  };

  #forget(events: readonly CacheEvent[]): void {
    const changed = new Set(events.map(({ entry }) => clusterOfKey(entry.key)));
    for (const cluster of changed) this.#workspaces.delete(cluster);
    for (const listener of this.listeners) for (const cluster of changed) listener(cluster);
  }

  #read(cluster: ClusterId): { kinds: WorkspaceKinds | undefined; isComplete: boolean } {
    const bound = this.#bindings.in(cluster).flatMap((binding) => binding.bound);
    if (bound.length === 0) return { kinds: undefined, isComplete: true };
    const key = bound
      .map(({ group, resource, schema, identity, isEnding, offeredBy }) => {
        const offer = offeredBy === undefined ? '' : `/${offeredBy.provider}/${offeredBy.exportName}`;
        return `${group}/${resource}/${schema}/${identity}/${isEnding === true}${offer}`;
      })
      .sort()
      .join('\n');
    const known = this.#sets.get(key);
    if (known !== undefined) return { kinds: known, isComplete: true };
    const kinds = new WorkspaceKinds();
    const definitions = bound.map(this.#definition);
    for (const definition of definitions) if (definition !== undefined) kinds.set(definition);
    // A missing schema may be created at any time.
    const isComplete = !definitions.includes(undefined);
    if (isComplete) this.#sets.set(key, kinds);
    return { kinds, isComplete };
  }
}

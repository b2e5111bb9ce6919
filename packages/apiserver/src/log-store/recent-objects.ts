import { type ClusterId, fleetGroup, nodeNamespace } from '@capstan/api';
import { BoundedMap, type KubeObject } from '@capstan/machinery';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';

/** How many deleted ones are remembered. */
const capacity = 20_000;

export interface RecentObjectsOptions<Value> {
  readonly cache: WatchCache;
  /** The workspace of the fleet; undefined until it exists. */
  readonly platform: () => ClusterId | undefined;
  /** A kind of the fleet, by its plural. */
  readonly resource: string;
  /** The part of an object that is remembered. */
  readonly pick: (object: KubeObject) => Value;
}

/** The objects of nodes that exist, and those that were deleted not long ago: their last output arrives when they are gone. */
export class RecentObjects<Value> {
  readonly #options: RecentObjectsOptions<Value>;
  readonly #objects: ResourceCache;
  readonly #deleted = new BoundedMap<string, Value>(capacity);

  constructor(options: RecentObjectsOptions<Value>) {
    this.#options = options;
    this.#objects = options.cache.resource({ group: fleetGroup, resource: `${options.resource}*` });
    this.#objects.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type === 'DELETED') this.#deleted.set(entry.key, options.pick(entry.parse()));
      },
    });
  }

  /** The object of a node with this name, or else the last one that was deleted; undefined if neither fits. */
  find(node: string, name: string, fits: (value: Value) => boolean = () => true): Value | undefined {
    const platform = this.#options.platform();
    if (platform === undefined) return undefined;
    const key = `${platform}/${nodeNamespace(node)}/${name}`;
    const entry = this.#objects.entries.get(key);
    const present = entry && this.#options.pick(entry.parse());
    if (present !== undefined && fits(present)) return present;
    const deleted = this.#deleted.get(key);
    return deleted !== undefined && fits(deleted) ? deleted : undefined;
  }
}

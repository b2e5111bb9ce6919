import { type ClusterId, fleetGroup, type NodeUnit, nodeNamespace, nodeUnitKind, type UnitOwner } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';

/** How many deleted ones are remembered. */
const capacity = 20_000;

/** The NodeUnits that exist, and those that were deleted not long ago: their last output arrives when they are gone. */
export class RecentUnits {
  readonly #units: ResourceCache;
  readonly #platform: () => ClusterId | undefined;
  readonly #deleted = new BoundedMap<string, UnitOwner>(capacity);

  constructor({ cache, platform }: { readonly cache: WatchCache; readonly platform: () => ClusterId | undefined }) {
    this.#units = cache.resource({ group: fleetGroup, resource: `${nodeUnitKind.resource}*` });
    this.#platform = platform;
    this.#units.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type === 'DELETED') this.#deleted.set(entry.key, (entry.parse() as NodeUnit).spec.owner);
      },
    });
  }

  /** The unit that a node was told to run; undefined if it was told of none. */
  owner(node: string, name: string): UnitOwner | undefined {
    const platform = this.#platform();
    if (platform === undefined) return undefined;
    const key = `${platform}/${nodeNamespace(node)}/${name}`;
    const entry = this.#units.entries.get(key);
    return entry === undefined ? this.#deleted.get(key) : (entry.parse() as NodeUnit).spec.owner;
  }
}

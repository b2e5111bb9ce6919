import type { DiscoveredResource } from '@capstan/client';
import { BoundedMap } from '@capstan/machinery';

/** How many workspaces are remembered. */
const capacity = 64;

export interface WorkspaceTypeCacheOptions {
  readonly discover: (cluster: string, signal: AbortSignal) => Promise<readonly DiscoveredResource[]>;
  /** In milliseconds: how long the types of a workspace are remembered. */
  readonly lifetime: number;
  /** The key that a type is found under, undefined to leave it out. Of several types with the same key the first, in the preferred version, is kept. */
  readonly keyOf: (type: DiscoveredResource) => string | undefined;
  /** Defaults to the system's clock. */
  readonly now?: () => number;
}

type Types = ReadonlyMap<string, DiscoveredResource>;

/** The types that workspaces serve, as discovery lists them. It remembers a limited number of workspaces. */
export class WorkspaceTypeCache {
  readonly #options: WorkspaceTypeCacheOptions;
  readonly #now: () => number;
  readonly #workspaces = new BoundedMap<string, { readonly at: number; readonly types: Promise<Types> }>(capacity);

  constructor(options: WorkspaceTypeCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The type with this key; undefined if the workspace does not serve it, as far as is remembered. */
  async find(cluster: string, key: string, signal: AbortSignal): Promise<DiscoveredResource | undefined> {
    return (await (this.#remembered(cluster) ?? this.#discover(cluster, signal))).get(key);
  }

  /** Like `find`, but asks the server again before it says that a type is not served. */
  async findOrAsk(cluster: string, key: string, signal: AbortSignal): Promise<DiscoveredResource | undefined> {
    const found = (await this.#remembered(cluster))?.get(key);
    return found ?? (await this.#discover(cluster, signal)).get(key);
  }

  /** To be called when a workspace may serve other types than before. */
  forget(cluster: string): void {
    this.#workspaces.delete(cluster);
  }

  #remembered(cluster: string): Promise<Types> | undefined {
    const known = this.#workspaces.get(cluster);
    return known !== undefined && this.#now() - known.at < this.#options.lifetime ? known.types : undefined;
  }

  #discover(cluster: string, signal: AbortSignal): Promise<Types> {
    const types = this.#options.discover(cluster, signal).then((served) => this.#byKey(served));
    this.#workspaces.set(cluster, { at: this.#now(), types });
    types.catch(() => this.#workspaces.delete(cluster));
    return types;
  }

  #byKey(served: readonly DiscoveredResource[]): Types {
    const types = new Map<string, DiscoveredResource>();
    for (const type of served) {
      const key = this.#options.keyOf(type);
      if (key !== undefined && !types.has(key)) types.set(key, type);
    }
    return types;
  }
}

import { type Client, type DiscoveredResource, discover, type ResourceType } from '@capstan/client';
import { printSource } from '@capstan/machinery';

/** Of so many workspaces it is remembered what they serve, for so long. */
const capacity = 64;
const lifetime = 60_000;
const needed = ['create', 'delete', 'list', 'watch'];

interface Known {
  readonly at: number;
  readonly types: Promise<ReadonlyMap<string, DiscoveredResource>>;
}

/** Tells in which version a workspace serves what quotas name. */
export class ServedTypes {
  readonly #client: Client;
  readonly #workspaces = new Map<string, Known>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Undefined when nothing of that name can be counted there. */
  async find(cluster: string, source: string, signal: AbortSignal): Promise<ResourceType | undefined> {
    // The first group has one version only, and most quotas are about it.
    if (!source.includes('.')) return { group: '', version: 'v1', resource: source, namespaced: true };
    const known = this.#workspaces.get(cluster);
    const types = known !== undefined && Date.now() - known.at < lifetime ? known.types : this.#ask(cluster, signal);
    return (await types).get(source);
  }

  /** What the workspace serves has changed. */
  forget(cluster: string): void {
    this.#workspaces.delete(cluster);
  }

  #ask(cluster: string, signal: AbortSignal): Known['types'] {
    const types = discover(this.#client.cluster(cluster), signal).then(bySource);
    this.#workspaces.delete(cluster);
    this.#workspaces.set(cluster, { at: Date.now(), types });
    if (this.#workspaces.size > capacity) this.#workspaces.delete(this.#workspaces.keys().next().value!);
    types.catch(() => this.#workspaces.delete(cluster));
    return types;
  }
}

/** Each once, in the version that its group prefers. */
function bySource(served: readonly DiscoveredResource[]): Map<string, DiscoveredResource> {
  const types = new Map<string, DiscoveredResource>();
  for (const type of served) {
    const source = printSource(type);
    if (!types.has(source) && needed.every((verb) => type.verbs.includes(verb))) types.set(source, type);
  }
  return types;
}

import { type Client, type DiscoveredResource, discover } from '@capstan/client';

/** Of so many workspaces it is remembered what they serve, for so long. */
const capacity = 64;
const lifetime = 30_000;

interface Known {
  readonly at: number;
  readonly kinds: Promise<ReadonlyMap<string, DiscoveredResource>>;
}

/** Tells what a reference's kind is called in paths. Asked only about owners that the journal has not told of. */
export class KnownTypes {
  readonly #client: Client;
  readonly #workspaces = new Map<string, Known>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** The type that a reference names in a workspace; undefined when it is not served there. */
  async typeOf(
    cluster: string,
    { apiVersion, kind }: { apiVersion: string; kind: string },
    signal: AbortSignal,
  ): Promise<DiscoveredResource | undefined> {
    const known = this.#workspaces.get(cluster);
    const found = known && Date.now() - known.at < lifetime ? (await known.kinds).get(`${apiVersion}/${kind}`) : undefined;
    // A kind may have been defined since.
    return found ?? (await this.#ask(cluster, signal)).get(`${apiVersion}/${kind}`);
  }

  #ask(cluster: string, signal: AbortSignal): Promise<ReadonlyMap<string, DiscoveredResource>> {
    const kinds = discover(this.#client.cluster(cluster), signal).then(byKind);
    this.#workspaces.delete(cluster);
    this.#workspaces.set(cluster, { at: Date.now(), kinds });
    if (this.#workspaces.size > capacity) this.#workspaces.delete(this.#workspaces.keys().next().value!);
    kinds.catch(() => this.#workspaces.delete(cluster));
    return kinds;
  }
}

function byKind(served: readonly DiscoveredResource[]): Map<string, DiscoveredResource> {
  const kinds = new Map<string, DiscoveredResource>();
  for (const one of served) {
    const name = `${one.group === '' ? '' : `${one.group}/`}${one.version}/${one.kind}`;
    if (!kinds.has(name)) kinds.set(name, one);
  }
  return kinds;
}

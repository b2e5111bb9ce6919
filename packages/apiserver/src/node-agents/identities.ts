import { type ClusterId, fleetGroup, type GPUNode, gpuNodeKind, type NodeIdentityStatus } from '@capstan/api';
import type { CacheEntry } from '../cache/entry.ts';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';

/** An agent, as its certificate describes it. */
export interface AgentCertificate {
  readonly node: string;
  /** The UID of the GPUNode: a node that is deleted and created again is another one. */
  readonly uid: string;
  /** The hash of the public key. */
  readonly key: string;
  /** The generation of the identity that it was issued for; 0 if the certificate does not say. */
  readonly generation: number;
  /** In milliseconds. */
  readonly notAfter: number;
}

/** A GPUNode, as far as it concerns identity. */
export interface KnownNode {
  readonly uid: string;
  /** Undefined if it has never been enrolled. */
  readonly identity: NodeIdentityStatus | undefined;
  /** It may stay for a while, until nothing is booked on it. */
  readonly isDeleting: boolean;
}

const facts = new WeakMap<CacheEntry, KnownNode>();

function factsOf(entry: CacheEntry): KnownNode {
  let known = facts.get(entry);
  if (known === undefined) {
    const { metadata, status } = entry.parse() as GPUNode;
    facts.set(
      entry,
      (known = { uid: metadata.uid ?? '', identity: status?.identity, isDeleting: metadata.deletionTimestamp !== undefined }),
    );
  }
  return known;
}

/** The identities of all nodes, from the cache. Every request of an agent looks here, so it costs no more than a look into a map. */
export class NodeIdentities {
  readonly #nodes: ResourceCache;
  readonly #platform: () => ClusterId | undefined;

  constructor({ cache, platform }: { readonly cache: WatchCache; readonly platform: () => ClusterId | undefined }) {
    // The kind is bound, so it is stored under the identity of its export; in tests it may be a definition.
    this.#nodes = cache.resource({ group: fleetGroup, resource: `${gpuNodeKind.resource}*` });
    this.#platform = platform;
  }

  /** Another number after every change of a node, and after the cache was loaded again. */
  get generation(): number {
    return this.#nodes.generation;
  }

  of(node: string): KnownNode | undefined {
    const platform = this.#platform();
    const entry = platform === undefined ? undefined : this.#nodes.entries.get(`${platform}//${node}`);
    return entry && factsOf(entry);
  }

  /** Why the holder of a certificate is not accepted now; undefined if it is. */
  problem({ node, uid, key }: AgentCertificate): string | undefined {
    const known = this.of(node);
    if (known === undefined || known.uid !== uid) return `the GPUNode ${node} of this certificate does not exist`;
    if (known.isDeleting) return `the GPUNode ${node} of this certificate is being removed`;
    const { identity } = known;
    if (identity?.locked !== undefined) return `the GPUNode ${node} is locked: ${identity.locked.reason}`;
    if (identity === undefined || (key !== identity.currentKey && key !== identity.previousKey))
      return `the key of this certificate of the GPUNode ${node} has been replaced`;
    return undefined;
  }

  /** Calls back with the names of nodes that changed. */
  onChange(listener: (nodes: ReadonlySet<string>) => void): void {
    this.#nodes.listeners.add({
      changed: (events) => listener(new Set(events.map(({ entry }) => entry.key.slice(entry.key.lastIndexOf('/') + 1)))),
    });
  }
}

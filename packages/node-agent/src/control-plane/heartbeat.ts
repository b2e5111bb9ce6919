import { randomUUID } from 'node:crypto';
import { nodeNamespace } from '@capstan/api';
import { type Client, isConflict, isNotFound, type Resource } from '@capstan/client';
import { formatMicroTime, type JsonObject, type KubeObject } from '@capstan/machinery';

const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };

type Lease = KubeObject & { readonly spec?: { readonly holderIdentity?: string } };

/** How long a Lease is valid that is renewed so often; both in milliseconds. */
export const leaseTime = (interval: number): number => 4 * interval;

export interface HeartbeatOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  /** How long the Lease is valid, in seconds. */
  readonly seconds: number;
}

/** Renews the Lease of a node. Each run of an agent has a name of its own in it, which tells two of them apart. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #leases: Resource<Lease>;
  readonly #holder = randomUUID();
  /** Of our last renewal. */
  #resourceVersion: string | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#leases = options.client.resource<Lease>(leaseKind).in(nodeNamespace(options.node));
  }

  /** `shared`: somebody else has renewed the Lease since we did, so two agents have one identity. */
  async beat(now: Date, signal: AbortSignal): Promise<'alone' | 'shared'> {
    const { node, seconds } = this.#options;
    const spec = { holderIdentity: this.#holder, leaseDurationSeconds: seconds, renewTime: formatMicroTime(now) };
    const isShared = this.#resourceVersion !== undefined && !(await this.#renewOwn(spec, signal));
    if (this.#resourceVersion === undefined || isShared) await this.#take({ node, spec }, signal);
    return isShared ? 'shared' : 'alone';
  }

  /** False if somebody else has the Lease now. */
  async #renewOwn(spec: JsonObject, signal: AbortSignal): Promise<boolean> {
    const { node } = this.#options;
    try {
      await this.#patch({ spec, metadata: { resourceVersion: this.#resourceVersion ?? '' } }, signal);
      return true;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      this.#resourceVersion = undefined;
      if (isNotFound(error)) return true;
      // It may have been our own renewal, whose answer did not arrive.
      return (await this.#leases.get(node, { signal })).spec?.holderIdentity === this.#holder;
    }
  }

  async #take({ node, spec }: { readonly node: string; readonly spec: JsonObject }, signal: AbortSignal): Promise<void> {
    try {
      await this.#patch({ spec }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const metadata = { name: node, namespace: nodeNamespace(node) };
      const created = await this.#leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, { signal });
      this.#resourceVersion = created.metadata.resourceVersion;
    }
  }

  async #patch(patch: JsonObject, signal: AbortSignal): Promise<void> {
    const renewed = await this.#leases.patch(this.#options.node, { type: 'merge', patch }, { signal });
    this.#resourceVersion = renewed.metadata.resourceVersion;
  }
}

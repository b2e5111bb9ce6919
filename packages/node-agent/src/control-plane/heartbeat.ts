import { randomUUID } from 'node:crypto';
import { nodeNamespace } from '@capstan/api';
import { type Client, isConflict, isNotFound, type Resource } from '@capstan/client';
import { formatMicroTime, type JsonObject, type KubeObject } from '@capstan/machinery';
import type { HeartbeatSender } from '@capstan/streams';

const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };

type Lease = KubeObject & { readonly spec?: { readonly holderIdentity?: string } };

/** How long a Lease is valid that is renewed so often; both in milliseconds. */
export const leaseTime = (interval: number): number => 4 * interval;

/** The part of an interval in which all agents renew their Leases. */
const spread = 1 / 40;

/**
 * In milliseconds. All agents renew their Leases at about the same times by the clock: a server that does the same work a hundred times at once needs much less for it than
 * one that is woken up for each, and one commit serves many. Without synchronous clocks, agents are as spread out as their clocks.
 */
export function untilNextBeat(interval: number, now: number, random: () => number = Math.random): number {
  const left = interval - (now % interval);
  // A timer may be a little early: the next time is not the one that is just being served.
  return (left < interval / 2 ? left + interval : left) + random() * spread * interval;
}

export interface HeartbeatOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  /** How long the Lease is valid, in seconds. */
  readonly seconds: number;
  /** A stream to a server that renews Leases without a request, if there is one. */
  readonly stream?: () => Pick<HeartbeatSender, 'send'> | undefined;
}

/** Renews the Lease of a node. Each run of an agent has a name of its own in it, which tells two of them apart. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #leases: Resource<Lease>;
  readonly #holder = randomUUID();
  /** Of our last renewal. */
  #resourceVersion: string | undefined;
  /** The same as a number, also while it is not known whether the Lease is still ours. */
  #revision: number | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#leases = options.client.resource<Lease>(leaseKind).in(nodeNamespace(options.node));
  }

  /**
   * `shared`: somebody else has renewed the Lease since we did, so two agents have one identity. `restored`: the control plane does not go on where it was at our last
   * renewal.
   */
  async beat(now: Date, signal: AbortSignal): Promise<'alone' | 'shared' | 'restored'> {
    const { node, seconds } = this.#options;
    const spec = { holderIdentity: this.#holder, leaseDurationSeconds: seconds, renewTime: formatMicroTime(now) };
    const before = this.#revision;
    let isShared = false;
    if (!(await this.#renewByStream(now, signal))) {
      isShared = this.#resourceVersion !== undefined && !(await this.#renewOwn(spec, signal));
      if (this.#resourceVersion === undefined || isShared) await this.#take({ node, spec }, signal);
    }
    // A Lease of an earlier agent comes back with a snapshot, too.
    if (isRestored(before, this.#revision)) return 'restored';
    return isShared ? 'shared' : 'alone';
  }

  /** False if a request has to find out how the Lease is: nothing but a Lease that only we have renewed is renewed here. */
  async #renewByStream(now: Date, signal: AbortSignal): Promise<boolean> {
    const { seconds, stream } = this.#options;
    const resourceVersion = this.#resourceVersion;
    const sender = resourceVersion === undefined ? undefined : stream?.();
    if (resourceVersion === undefined || sender === undefined) return false;
    const beat = { resourceVersion, holder: this.#holder, seconds, at: now.getTime() };
    try {
      const renewed = await sender.send(beat, signal);
      if (renewed !== undefined) this.#note(renewed);
      return renewed !== undefined;
    } catch {
      // A server that does not answer here is as good as one that does not answer a request; the next heartbeat will be one.
      signal.throwIfAborted();
      return false;
    }
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
      this.#note(created.metadata.resourceVersion);
    }
  }

  async #patch(patch: JsonObject, signal: AbortSignal): Promise<void> {
    const renewed = await this.#leases.patch(this.#options.node, { type: 'merge', patch }, { signal });
    this.#note(renewed.metadata.resourceVersion);
  }

  #note(resourceVersion: string | undefined): void {
    this.#resourceVersion = resourceVersion;
    this.#revision = Number(resourceVersion);
  }
}

/** A store that was restored goes on far above the snapshot, or begins again if it counts itself. */
const smallestLeap = 500_000_000;

function isRestored(before: number | undefined, after: number | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return after < before || after - before > smallestLeap;
}

import { type Client, isAlreadyExists, isNotFound, type Resource } from '@capstan/client';
import { formatMicroTime, type KubeObject } from '@capstan/machinery';

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface LeaseOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process that ever runs. */
  readonly identity: string;
  /** In milliseconds. */
  readonly leaseDuration: number;
  /** Milliseconds since 1970: recorded for people, never compared. */
  readonly wall: () => number;
}

/** The record that contenders write. Every write has the version that was read, so of two concurrent writes one is rejected. */
export class LeaseRecord {
  readonly resource: Resource<Lease>;
  readonly #options: LeaseOptions;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.resource = options.client
      .resource<Lease>({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true })
      .in(options.namespace);
  }

  async read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.resource.get(this.#options.name, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Creates the record; undefined if another process created it first. */
  async create(signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name } = this.#options;
    try {
      return await this.resource.create(
        { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec: this.#spec(this.#time(), 0) },
        { signal },
      );
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** Takes over a record that is free or has expired. */
  take(lease: Lease, signal: AbortSignal): Promise<Lease> {
    return this.resource.update({ ...lease, spec: this.#spec(this.#time(), (lease.spec?.leaseTransitions ?? 0) + 1) }, { signal });
  }

  renew(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { acquireTime, leaseTransitions } = lease.spec ?? {};
    return this.resource.update({ ...lease, spec: this.#spec(acquireTime ?? this.#time(), leaseTransitions ?? 0) }, { signal });
  }

  /** Frees the lease for the next contender. */
  release(lease: Lease, signal: AbortSignal): Promise<Lease> {
    return this.resource.update({ ...lease, spec: { ...lease.spec, holderIdentity: '', renewTime: this.#time() } }, { signal });
  }

  isOurs(lease: Lease): boolean {
    return lease.spec?.holderIdentity === this.#options.identity;
  }

  #time(): string {
    return formatMicroTime(new Date(this.#options.wall()));
  }

  #spec(acquireTime: string, leaseTransitions: number): NonNullable<Lease['spec']> {
    const { identity, leaseDuration } = this.#options;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDuration / 1000),
      acquireTime,
      renewTime: this.#time(),
      leaseTransitions,
    };
  }
}

import { type GPUUnit, gpuUnitKind, type UnitOwner } from '@capstan/api';
import { type Client, type Informer, isForbidden, isNotFound } from '@capstan/client';

interface Endpoint {
  readonly client: Client;
  readonly units: Informer<GPUUnit>;
}

/** The units of all tenants, at all endpoints of the export's view. */
export class Owners {
  readonly #endpoints = new Set<Endpoint>();

  /** Adds an endpoint until the signal. */
  add(endpoint: Endpoint, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#endpoints.add(endpoint);
    signal.addEventListener('abort', () => this.#endpoints.delete(endpoint), { once: true });
  }

  /** `gone` only if every endpoint says so: a copy may be behind, and silence proves nothing. */
  async find({ cluster, namespace, name, uid }: UnitOwner): Promise<'exists' | 'gone' | 'unknown'> {
    for (const { units } of this.#endpoints) if (units.get({ cluster, namespace, name })?.metadata.uid === uid) return 'exists';
    if (this.#endpoints.size === 0) return 'unknown';
    for (const { client } of this.#endpoints) {
      const resource = client.cluster(cluster).resource<GPUUnit>(gpuUnitKind).in(namespace);
      try {
        if ((await resource.get(name)).metadata.uid === uid) return 'exists';
      } catch (error) {
        // A workspace whose binding is not ready hides its units, which may run.
        if (isForbidden(error)) return 'unknown';
        if (!isNotFound(error)) throw error;
      }
    }
    return 'gone';
  }
}

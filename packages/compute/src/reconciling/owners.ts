import { type Client, type Informer, isForbidden, isNotFound, type ResourceType } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

interface Endpoint {
  readonly client: Client;
  readonly objects: Informer;
}

/** An object of a tenant that something in root:platform was made for. */
export interface Owner {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The objects of one kind of all tenants, at all endpoints of the export's view. */
export class Owners {
  readonly #endpoints = new Set<Endpoint>();
  readonly #kind: ResourceType;

  constructor(kind: ResourceType) {
    this.#kind = kind;
  }

  /** Adds an endpoint until the signal. */
  add(endpoint: Endpoint, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#endpoints.add(endpoint);
    signal.addEventListener('abort', () => this.#endpoints.delete(endpoint), { once: true });
  }

  /** `gone` only if every endpoint says so: a copy may be behind, and silence proves nothing. */
  async find({ cluster, namespace, name, uid }: Owner): Promise<'exists' | 'gone' | 'unknown'> {
    for (const { objects } of this.#endpoints) if (objects.get({ cluster, namespace, name })?.metadata.uid === uid) return 'exists';
    if (this.#endpoints.size === 0) return 'unknown';
    for (const { client } of this.#endpoints) {
      const resource = client.cluster(cluster).resource<KubeObject>(this.#kind).in(namespace);
      try {
        if ((await resource.get(name)).metadata.uid === uid) return 'exists';
      } catch (error) {
        // A workspace whose binding is not ready hides its objects, which may be in use.
        if (isForbidden(error)) return 'unknown';
        if (!isNotFound(error)) throw error;
      }
    }
    return 'gone';
  }
}

import { type Allocation, type AllocationReference, type AllocationStatus, allocationKind, asAllocationId } from '@capstan/api';
import { clusterOf, isNotFound, type Resource } from '@capstan/client';
import { type ControllerContext, ignoring, type Runnable } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import { Latest } from './latest.ts';

/** One endpoint of the export's view, with the allocations of its workspaces. */
export interface Place {
  readonly context: ControllerContext;
  readonly allocations: Latest<Allocation>;
}

/** An allocation, and where it is. */
export interface Known {
  readonly uid: string;
  readonly allocation: Allocation;
  readonly place: Place;
}

/** The allocations of all tenants, at all endpoints of the export's view. */
export class Tenants {
  readonly #places = new Set<Place>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Follows the allocations of one endpoint; for `acrossEndpoints`. */
  follower(name: string): Runnable {
    return {
      name,
      run: async (context) => {
        const informer = context.informers.informer<Allocation>(allocationKind);
        await context.informers.synced(context.signal);
        const onChange = this.#onChange;
        using allocations = new Latest(informer, { keyOf: ({ metadata }) => metadata.uid ?? '', onChange });
        const place = { context, allocations };
        this.#places.add(place);
        onChange();
        try {
          await ended(context.signal);
        } finally {
          this.#places.delete(place);
        }
      },
    };
  }

  /** The endpoint, if there is one only: then it has the workspaces of all tenants. */
  get onlyPlace(): Place | undefined {
    const [first] = this.#places;
    return this.#places.size === 1 ? first : undefined;
  }

  *all(): Generator<Known> {
    for (const place of this.#places) for (const [uid, allocation] of place.allocations.entries()) yield { uid, allocation, place };
  }

  find(uid: string): Known | undefined {
    for (const place of this.#places) {
      const allocation = place.allocations.get(uid);
      if (allocation !== undefined) return { uid, allocation, place };
    }
    return undefined;
  }

  /**
   * Reads an allocation that no copy has. `gone` only if every endpoint says so: silence of one proves nothing. `unknown` if nobody can say.
   */
  async read(reference: AllocationReference, signal: AbortSignal): Promise<Allocation | 'gone' | 'unknown'> {
    if (this.#places.size === 0) return 'unknown';
    for (const { context } of this.#places) {
      const resource = context.client.cluster(reference.cluster).resource<Allocation>(allocationKind).in(reference.namespace);
      const found = await ignoring(resource.get(reference.name, { signal }), isNotFound);
      if (found !== undefined && found.metadata.uid === reference.uid) return found;
    }
    return 'gone';
  }
}

export function resourceOf({ allocation, place }: Known): Resource<Allocation> {
  const cluster = clusterOf(allocation);
  const { client } = place.context;
  return (cluster === undefined ? client : client.cluster(cluster)).resource<Allocation>(allocationKind);
}

/** Writes the status if the allocation is still as it was read: another scheduler may have granted it in the meantime. */
export async function writeStatus(known: Known, status: AllocationStatus, signal: AbortSignal): Promise<Allocation> {
  const { allocation, place } = known;
  const { name = '', namespace, resourceVersion = '' } = allocation.metadata;
  const patch = { metadata: { resourceVersion }, status: { ...status, message: status.message ?? null } } as unknown as JsonObject;
  const written = await resourceOf(known).patch({ name, namespace }, { type: 'merge', patch }, { subresource: 'status', signal });
  place.allocations.wrote(written);
  return written;
}

/** The workspace of an allocation, which is the tenant in the queue. */
export function tenantOf({ allocation }: Known): string {
  return clusterOf(allocation) ?? '';
}

export function referenceTo(known: Known): AllocationReference {
  const { name = '', namespace = '' } = known.allocation.metadata;
  return { cluster: tenantOf(known), namespace, name, uid: asAllocationId(known.uid) };
}

export function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

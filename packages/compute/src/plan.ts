import type { AllocationSpec, GPUNode, NodeBooking, OfferingSpec } from '@capstan/api';
import { FleetIndex, type Placement, requestFor, type Shortage } from '@capstan/fleet';
import { fleetNodeOf } from './allocations/fleet-node.ts';

export interface PlanInput {
  readonly nodes: readonly GPUNode[];
  readonly bookings: readonly NodeBooking[];
  readonly offering: OfferingSpec;
  readonly order: Pick<AllocationSpec, 'nodes' | 'topology'>;
}

/** Where an order would go now, and what it would use there, or why it would wait. It ignores limits and those who wait already. */
export function planAllocation({ nodes, bookings, offering, order }: PlanInput): Placement | Shortage {
  const index = new FleetIndex();
  for (const node of nodes) index.setNode(fleetNodeOf(node));
  for (const { metadata, spec } of bookings)
    index.setBookings(metadata.name ?? '', new Map(spec.entries.map((entry) => [`${entry.allocation.uid}/${entry.attempt}`, entry])));
  return index.place(requestFor(offering, order));
}

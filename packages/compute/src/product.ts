import { allocationKind, gpuNodeKind, gpuUnitKind, nodeBookingKind, offeringKind } from '@capstan/api';
import type { PolicyRule, Product } from '@capstan/platform';
import { allocations } from './allocations/controller.ts';
import type { SchedulerOptions } from './allocations/scheduler.ts';

const read = ['get', 'list', 'watch'];

/** All that the scheduler may do in root:platform. */
const rules: readonly PolicyRule[] = [
  { apiGroups: [gpuNodeKind.group], resources: [gpuNodeKind.resource], verbs: read },
  { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource], verbs: [...read, 'create', 'patch', 'update'] },
  { apiGroups: [offeringKind.group], resources: [offeringKind.resource], verbs: read },
];

/** The product through which tenants order parts of the fleet: offerings, and the allocations that they get. */
export function computeProduct(options: Partial<SchedulerOptions> = {}): Product {
  return {
    name: 'compute',
    kinds: [offeringKind, allocationKind, gpuUnitKind],
    catalogs: [offeringKind],
    boundBy: ['project', 'home'],
    claims: [{ group: '', resource: 'events', verbs: ['create', 'patch'] }],
    rules,
    controllers: [{ name: 'allocations', make: ({ tenants }) => allocations(tenants, options) }],
  };
}

export const compute: Product = computeProduct();

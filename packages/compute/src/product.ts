import {
  allocationKind,
  computeUsageKind,
  fleetQuotaKind,
  gpuNodeKind,
  gpuUnitKind,
  logicalClusterKind,
  nodeBookingKind,
  nodeReservationKind,
  offeringKind,
} from '@capstan/api';
import type { PolicyRule, Product } from '@capstan/platform';
import { allocations } from './allocations/controller.ts';
import type { SchedulerOptions } from './allocations/scheduler.ts';

const read = ['get', 'list', 'watch'];

/** All that the scheduler may do in root:platform. */
const rules: readonly PolicyRule[] = [
  {
    apiGroups: [gpuNodeKind.group],
    resources: [gpuNodeKind, fleetQuotaKind, nodeReservationKind].map(({ resource }) => resource),
    verbs: read,
  },
  { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource], verbs: [...read, 'create', 'patch', 'update'] },
  { apiGroups: [offeringKind.group], resources: [offeringKind.resource], verbs: read },
];

/** Tenants order, and only read what the platform tells them. */
const tenantRules: readonly PolicyRule[] = [
  { apiGroups: [allocationKind.group], resources: [allocationKind.resource], verbs: ['*'] },
  { apiGroups: [allocationKind.group], resources: [`${allocationKind.resource}/status`], verbs: ['get'] },
  { apiGroups: [allocationKind.group], resources: [offeringKind.resource, computeUsageKind.resource], verbs: read },
];

/** The product through which tenants order parts of the fleet: offerings, and the allocations that they get. */
export function computeProduct(options: Partial<SchedulerOptions> = {}): Product {
  return {
    name: 'compute',
    kinds: [offeringKind, allocationKind, gpuUnitKind, computeUsageKind],
    catalogs: [offeringKind],
    boundBy: ['project', 'home'],
    claims: [
      { group: '', resource: 'events', verbs: ['create', 'patch'] },
      // The path of the workspace, by which quotas and reservations name it.
      { group: logicalClusterKind.group, resource: logicalClusterKind.resource, verbs: ['get'] },
    ],
    tenantRules,
    rules,
    controllers: [{ name: 'allocations', make: ({ tenants }) => allocations(tenants, options) }],
  };
}

export const compute: Product = computeProduct();

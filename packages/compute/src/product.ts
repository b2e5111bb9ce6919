import {
  allocationKind,
  computeUsageKind,
  fleetQuotaKind,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  logicalClusterKind,
  nodeBookingKind,
  nodeReservationKind,
  nodeUnitKind,
  nodeVolumeKind,
  offeringKind,
  type PermissionClaim,
  unitLabel,
  usagePath,
} from '@capstan/api';
import type { PolicyRule, Product } from '@capstan/platform';
import { allocations } from './allocations/controller.ts';
import type { SchedulerOptions } from './allocations/scheduler.ts';
import { stock } from './stock/controller.ts';
import { Stockroom } from './stock/stockroom.ts';
import { type StorageOptions, storages } from './storages/controller.ts';
import { type UnitOptions, units } from './units/controller.ts';
import { leaseKind } from './units/copies.ts';

const read = ['get', 'list', 'watch'];

/** All that the controllers may do in root:platform. */
const rules: readonly PolicyRule[] = [
  {
    apiGroups: [gpuNodeKind.group],
    resources: [gpuNodeKind, fleetQuotaKind, nodeReservationKind].map(({ resource }) => resource),
    verbs: read,
  },
  { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource], verbs: [...read, 'create', 'patch', 'update'] },
  { apiGroups: [offeringKind.group], resources: [offeringKind.resource], verbs: read },
  {
    apiGroups: [nodeUnitKind.group],
    resources: [nodeUnitKind.resource, nodeVolumeKind.resource],
    verbs: [...read, 'create', 'patch', 'delete'],
  },
  { apiGroups: [nodeUnitKind.group], resources: [`${nodeUnitKind.resource}/secrets`], verbs: ['update'] },
  { apiGroups: [leaseKind.group], resources: [leaseKind.resource], verbs: read },
  { nonResourceURLs: [usagePath], verbs: ['get', 'post'] },
];

/** Objects of tenants that units need. Of Pods, only those that show units. */
const claims: readonly PermissionClaim[] = [
  { group: '', resource: 'events', verbs: ['create', 'patch'] },
  // The path of the workspace, by which quotas and reservations name it.
  { group: logicalClusterKind.group, resource: logicalClusterKind.resource, verbs: ['get'] },
  { group: '', resource: 'secrets', verbs: ['get'] },
  { group: '', resource: 'configmaps', verbs: ['get'] },
  {
    group: '',
    resource: 'pods',
    verbs: [...read, 'create', 'patch', 'delete'],
    defaultSelector: { matchExpressions: [{ key: unitLabel, operator: 'Exists' }] },
  },
];

/** The kinds that tenants write. */
const ordered = [allocationKind, gpuUnitKind, gpuStorageKind];

/** Tenants order, and only read what the platform tells them. */
const tenantRules: readonly PolicyRule[] = [
  { apiGroups: [allocationKind.group], resources: ordered.map(({ resource }) => resource), verbs: ['*'] },
  { apiGroups: [allocationKind.group], resources: ordered.map(({ resource }) => `${resource}/status`), verbs: ['get'] },
  { apiGroups: [allocationKind.group], resources: [offeringKind.resource, computeUsageKind.resource], verbs: read },
];

/** The product through which tenants order parts of the fleet: offerings, and the allocations that they get. */
export function computeProduct(options: Partial<SchedulerOptions> & UnitOptions & StorageOptions = {}): Product {
  const stockroom = new Stockroom();
  return {
    name: 'compute',
    kinds: [offeringKind, ...ordered, computeUsageKind],
    catalogs: [offeringKind],
    boundBy: ['project', 'home'],
    claims,
    tenantRules,
    rules,
    controllers: [
      { name: 'allocations', make: ({ tenants }) => allocations(tenants, options, stockroom) },
      { name: 'storages', make: ({ tenants, platform }) => storages(tenants, platform, options) },
      { name: 'units', make: ({ tenants, platform }) => units(tenants, platform, { stockroom, ...options }) },
      { name: 'stock', make: () => stock() },
    ],
  };
}

export const compute: Product = computeProduct();

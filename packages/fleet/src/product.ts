import {
  fleetQuotaKind,
  gpuNodeKind,
  nodeBookingKind,
  nodeEnrollmentKind,
  nodeReservationKind,
  nodeScriptKind,
  nodeTaskKind,
  nodeUnitKind,
  nodeVolumeKind,
} from '@capstan/api';
import type { PolicyRule, Product } from '@capstan/platform';
import { type CleaningOptions, cleaning } from './cleaning/controller.ts';
import { name as cleaningName, rules as cleaningRules } from './cleaning/registration.ts';
import { leaseKind, type NodeOptions, nodes } from './nodes/controller.ts';
import { reservations } from './reservations/controller.ts';
import { rules as reservationRules, name as reservationsName } from './reservations/registration.ts';

const read = ['get', 'list', 'watch'];

/** All that the controllers may do in root:platform. */
const rules: readonly PolicyRule[] = [
  { apiGroups: [gpuNodeKind.group], resources: [gpuNodeKind.resource], verbs: [...read, 'patch', 'update'] },
  { apiGroups: [gpuNodeKind.group], resources: [`${gpuNodeKind.resource}/status`], verbs: ['get', 'patch', 'update'] },
  { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource], verbs: [...read, 'delete'] },
  { apiGroups: [leaseKind.group], resources: [leaseKind.resource], verbs: read },
  ...cleaningRules,
  ...reservationRules,
];

/** The machines of the platform and the work on them. Tenants see none of it. */
export function fleetProduct(options: NodeOptions & CleaningOptions = {}): Product {
  return {
    name: 'fleet',
    kinds: [
      gpuNodeKind,
      nodeEnrollmentKind,
      nodeTaskKind,
      nodeScriptKind,
      nodeBookingKind,
      nodeUnitKind,
      nodeVolumeKind,
      fleetQuotaKind,
      nodeReservationKind,
    ],
    boundBy: ['platform'],
    rules,
    controllers: [
      { name: 'nodes', make: () => nodes(options) },
      { name: cleaningName, make: () => cleaning(options) },
      { name: reservationsName, make: () => reservations(options) },
    ],
  };
}

export const fleet: Product = fleetProduct();

import { appKind } from './apps/app.ts';
import { appInstanceKind } from './apps/app-instance.ts';
import { appMemberKind } from './apps/app-member.ts';
import { appOperationKind } from './apps/app-operation.ts';
import { allocationKind } from './compute/allocation.ts';
import { gpuStorageKind } from './compute/gpu-storage.ts';
import { gpuUnitKind } from './compute/gpu-unit.ts';
import { offeringKind } from './compute/offering.ts';
import { computeUsageKind } from './compute/usage.ts';
import type { KindDefinition } from './definition/define-kind.ts';
import { nodeBookingKind } from './fleet/booking.ts';
import { gpuNodeKind } from './fleet/gpu-node.ts';
import { nodeEnrollmentKind } from './fleet/node-enrollment.ts';
import { nodeScriptKind } from './fleet/node-script.ts';
import { nodeTaskKind } from './fleet/node-task.ts';
import { nodeUnitKind } from './fleet/node-unit.ts';
import { nodeVolumeKind } from './fleet/node-volume.ts';
import { fleetQuotaKind } from './fleet/quota.ts';
import { nodeReservationKind } from './fleet/reservation.ts';
import { operatorJobKind } from './operator/operator-job.ts';

/** Every kind of Capstan's own. The files of `npm run generate` and the tests of all definitions follow this list. */
export const definedKinds: readonly KindDefinition[] = [
  gpuNodeKind,
  nodeEnrollmentKind,
  nodeTaskKind,
  nodeScriptKind,
  nodeBookingKind,
  nodeUnitKind,
  nodeVolumeKind,
  offeringKind,
  allocationKind,
  gpuUnitKind,
  gpuStorageKind,
  fleetQuotaKind,
  nodeReservationKind,
  computeUsageKind,
  operatorJobKind,
  appKind,
  appInstanceKind,
  appMemberKind,
  appOperationKind,
];

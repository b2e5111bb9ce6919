import {
  allocationKind,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  type NodeUnit,
  nodeNamespace,
  nodeUnitKind,
} from '@capstan/api';
import { type Client, objectKey } from '@capstan/client';
import { controller, done, type Endpoints, type Runnable, requeueAfter } from '@capstan/controller';
import { acrossTenants } from '../reconciling/across-tenants.ts';
import { Owners } from '../reconciling/owners.ts';
import { performSteps } from '../reconciling/steps.ts';
import { type Shelf, Stockroom } from '../stock/stockroom.ts';
import { copiesOf, nodeConcernsUnits, ownedByName, ownerKeys, podKind, unitPods, unitsOn } from './copies.ts';
import { decide } from './decide.ts';
import { mountingUnits } from './mounts.ts';
import { abandonedUnits, orphans } from './orphans.ts';
import { Work } from './work.ts';

export interface UnitOptions {
  readonly now?: () => number;
  /** Warm units of the scheduler. */
  readonly stockroom?: Shelf;
}

const mostSteps = 100;

/** Units of all tenants, and their NodeUnits in root:platform. */
export function units(tenants: Endpoints, platform: Client, { now = Date.now, stockroom = new Stockroom() }: UnitOptions = {}): Runnable {
  const owners = new Owners(gpuUnitKind);
  const abandoned = abandonedUnits();
  const sweeper = orphans(owners, abandoned);
  const each = controller('units')
    .for<GPUUnit>(gpuUnitKind)
    .reads((informers, at) => copiesOf(informers, at(platform), now))
    .owns(allocationKind)
    .owns(podKind, unitPods)
    .watches<GPUStorage>(gpuStorageKind, (storage, copies) => mountingUnits(copies.units, objectKey(storage)).map(objectKey))
    .watches<NodeUnit>(nodeUnitKind, (one) => ownerKeys([one]), { client: platform })
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }, { nodeUnits }) => ownerKeys(unitsOn(nodeUnits, nodeNamespace(name))), {
      client: platform,
      predicate: nodeConcernsUnits,
    })
    .reconcile(
      async ({ key, object: unit, copies, client, events, wrote }) => {
        if (unit === undefined) {
          for (const one of ownedByName(copies.nodeUnits, key)) abandoned.send(one);
          return done;
        }
        const work = new Work(unit, { copies, client, platform, events, wrote, now, stockroom });
        const waiting = await performSteps(work, { decide, most: mostSteps, subject: `the unit ${unit.metadata.name}` });
        return waiting?.atMost === undefined ? done : requeueAfter(waiting.atMost);
      },
      { concurrency: 32 },
    );
  return acrossTenants(each, { tenants, kind: gpuUnitKind, owners, sweeper });
}

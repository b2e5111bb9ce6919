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
import { acrossEndpoints, controller, done, type Endpoints, type Runnable, requeueAfter } from '@capstan/controller';
import { type Shelf, Stockroom } from '../stock/stockroom.ts';
import { copiesOf, nodeConcernsUnits, ownedByName, ownerKeys, podKind, unitPods, unitsOn } from './copies.ts';
import { decide } from './decide.ts';
import { mountingUnits } from './mounts.ts';
import { abandonedUnits, orphans } from './orphans.ts';
import { Owners } from './owners.ts';
import { Work } from './work.ts';

export interface UnitOptions {
  readonly now?: () => number;
  /** Warm units of the scheduler. */
  readonly stockroom?: Shelf;
}

/** More steps than a reconcile can need: a decision that does not see its own effect must not go on for ever. */
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
        for (let count = 0; count < mostSteps; count++) {
          const step = decide(work.scene());
          if (step.kind === 'wait') return step.atMost === undefined ? done : requeueAfter(step.atMost);
          await work.perform(step);
          if (step.kind === 'letGo') return done;
        }
        throw new Error(`the unit ${unit.metadata.name} needs more than ${mostSteps} steps`);
      },
      { concurrency: 32 },
    );
  const followed: Runnable = {
    name: each.name,
    run: async (context) => {
      owners.add({ client: context.client, objects: context.informers.informer(gpuUnitKind) }, context.signal);
      await each.run(context);
    },
  };
  return {
    name: each.name,
    run: async (context) => void (await Promise.all([acrossEndpoints(tenants, followed).run(context), sweeper.run(context)])),
  };
}

import {
  type Allocation,
  allocationKind,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  type NodeVolume,
  nodeNamespace,
  nodeVolumeKind,
} from '@capstan/api';
import { type Client, clusterOf } from '@capstan/client';
import { acrossEndpoints, controller, controllerOf, done, type Endpoints, type Runnable } from '@capstan/controller';
import { nodeConcernsUnits } from '../units/copies.ts';
import { mountKeys } from '../units/mounts.ts';
import { Owners } from '../units/owners.ts';
import { copiesFrom, copiesOf, ownerKey, volumesFor, volumesOn } from './copies.ts';
import { decide } from './decide.ts';
import { abandonedVolumes, orphans } from './orphans.ts';
import { Work } from './work.ts';

export interface StorageOptions {
  readonly now?: () => number;
}

/** More steps than a reconcile can need: a decision that does not see its own effect must not go on for ever. */
const mostSteps = 30;

/** Storages of all tenants, and their NodeVolumes in root:platform. */
export function storages(tenants: Endpoints, platform: Client, { now = Date.now }: StorageOptions = {}): Runnable {
  const owners = new Owners(gpuStorageKind);
  const abandoned = abandonedVolumes();
  const sweeper = orphans(owners, abandoned);
  const each = controller('storages')
    .for<GPUStorage>(gpuStorageKind)
    .reads((informers, at) => copiesOf(informers, at(platform)))
    .watches<GPUUnit>(gpuUnitKind, mountKeys)
    .watches<Allocation>(allocationKind, (allocation, { units }) => {
      const cluster = clusterOf(allocation);
      const name = controllerOf(allocation)?.name ?? '';
      const unit = units.get({ ...(cluster !== undefined && { cluster }), namespace: allocation.metadata.namespace, name });
      return unit === undefined ? [] : mountKeys(unit);
    })
    .watches<GPUStorage>(gpuStorageKind, (storage, copies) => copiesFrom(copies.storages, storage))
    .watches<NodeVolume>(nodeVolumeKind, (volume) => [ownerKey(volume)], { client: platform })
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }, { volumes }) => volumesOn(volumes, nodeNamespace(name)).map(ownerKey), {
      client: platform,
      predicate: nodeConcernsUnits,
    })
    .reconcile(
      async ({ key, object: storage, copies, client, events, wrote }) => {
        if (storage === undefined) {
          for (const one of volumesFor(copies.volumes, key)) abandoned.send(one);
          return done;
        }
        const work = new Work(storage, { copies, client, platform, events, wrote, now });
        for (let count = 0; count < mostSteps; count++) {
          const step = decide(work.scene());
          if (step.kind === 'wait') return done;
          await work.perform(step);
          if (step.kind === 'letGo') return done;
        }
        throw new Error(`the storage ${storage.metadata.name} needs more than ${mostSteps} steps`);
      },
      { concurrency: 16 },
    );
  const followed: Runnable = {
    name: each.name,
    run: async (context) => {
      owners.add({ client: context.client, objects: context.informers.informer(gpuStorageKind) }, context.signal);
      await each.run(context);
    },
  };
  return {
    name: each.name,
    run: async (context) => void (await Promise.all([acrossEndpoints(tenants, followed).run(context), sweeper.run(context)])),
  };
}

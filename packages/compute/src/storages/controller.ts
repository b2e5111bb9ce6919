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
import { controller, controllerOf, done, type Endpoints, type Runnable, requeueAfter } from '@capstan/controller';
import { QuotaGate } from '@capstan/fleet';
import { WorkspacePaths } from '../allocations/workspaces.ts';
import { acrossTenants } from '../reconciling/across-tenants.ts';
import { Owners } from '../reconciling/owners.ts';
import { performSteps } from '../reconciling/steps.ts';
import { nodeConcernsUnits } from '../units/copies.ts';
import { mountKeys } from '../units/mounts.ts';
import { ledgerAt } from '../usage/ledger-client.ts';
import { copiesFrom, copiesOf, ownerKey, storagesSharedBy, volumesFor, volumesOn } from './copies.ts';
import { decide } from './decide.ts';
import { abandonedVolumes, orphans } from './orphans.ts';
import { StorageUsage } from './usage.ts';
import { Work } from './work.ts';

export interface StorageOptions {
  readonly now?: () => number;
  /** In milliseconds: how often a storage that would exceed a limit is looked at. */
  readonly askQuotaAgain?: number;
}

const mostSteps = 30;

/** Storages of all tenants, and their NodeVolumes in root:platform. */
export function storages(tenants: Endpoints, platform: Client, { now = Date.now, askQuotaAgain = 15_000 }: StorageOptions = {}): Runnable {
  const quota = new QuotaGate(nodeVolumeKind.measures.map(({ name }) => name));
  const usage = new StorageUsage(ledgerAt(platform));
  const paths = new WorkspacePaths();
  const owners = new Owners(gpuStorageKind);
  const abandoned = abandonedVolumes();
  const sweeper = orphans(owners, abandoned, usage);
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
    .watches<GPUNode>(
      gpuNodeKind,
      (node, copies) => [
        ...volumesOn(copies.volumes, nodeNamespace(node.metadata.name ?? '')).map(ownerKey),
        ...storagesSharedBy(copies.storages, node),
      ],
      { client: platform, predicate: nodeConcernsUnits },
    )
    .reconcile(
      async ({ key, object: storage, copies, client, events, wrote, signal }) => {
        if (storage === undefined) {
          for (const one of volumesFor(copies.volumes, key)) abandoned.send(one);
          return done;
        }
        const cluster = clusterOf(storage) ?? '';
        await paths.learn(cluster, client, signal);
        const work = new Work(storage, { copies, client, platform, events, wrote, now, quota, usage, path: paths.pathOf(cluster) });
        await work.account();
        await performSteps(work, { decide, most: mostSteps, subject: `the storage ${storage.metadata.name}` });
        return work.isRefused ? requeueAfter(askQuotaAgain) : done;
      },
      { concurrency: 16 },
    );
  return acrossTenants(each, { tenants, kind: gpuStorageKind, owners, sweeper });
}

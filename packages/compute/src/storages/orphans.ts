import { type GPUNode, gpuNodeKind, type NodeVolume, nodeNamespace, nodeOfNamespace, nodeVolumeKind } from '@capstan/api';
import { type Informer, isNotFound, objectKey } from '@capstan/client';
import { Channel, type Controller, controller, done, ignoring, requeueAfter } from '@capstan/controller';
import type { Owners } from '../reconciling/owners.ts';
import { nodeConcernsUnits } from '../units/copies.ts';
import { nodeStateOf } from '../units/nodes.ts';
import { volumesOf, volumesOn } from './copies.ts';
import type { StorageUsage } from './usage.ts';

/** In milliseconds: how long to wait if nobody can say whether a storage exists. */
const askAgain = 30_000;

/** Sent for NodeVolumes whose storage has disappeared. */
export type Abandoned = Channel<NodeVolume>;
export const abandonedVolumes = (): Abandoned => new Channel<NodeVolume>();

/**
 * Collects NodeVolumes whose storage is gone: those that stayed on a silent node when it was deleted, and those of storages that were deleted by force. Retained ones
 * stay until their node is removed.
 */
export function orphans(owners: Owners, abandoned: Abandoned, usage: Pick<StorageUsage, 'end'>): Controller<NodeVolume, Copies> {
  return controller('storage-orphans')
    .for<NodeVolume>(nodeVolumeKind)
    .reads((informers): Copies => ({ nodes: informers.informer<GPUNode>(gpuNodeKind), volumes: volumesOf(informers) }))
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }, { volumes }) => volumesOn(volumes, nodeNamespace(name)).map(objectKey), {
      predicate: nodeConcernsUnits,
    })
    .receives(abandoned, (volume) => [objectKey(volume)])
    .reconcile(async ({ object: volume, copies, client, wrote }) => {
      if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) return done;
      const { name = '', uid = '', namespace } = volume.metadata;
      const node = copies.nodes.get({ name: nodeOfNamespace(namespace ?? '') ?? '' });
      if (volume.spec.retained && !volume.spec.deleted && node !== undefined) return done;
      const owner = await owners.find(volume.spec.owner);
      if (owner === 'unknown') return requeueAfter(askAgain);
      if (owner === 'exists') return done;
      await usage.end(volume);
      const resource = client.resource<NodeVolume>(nodeVolumeKind).in(namespace);
      if (volume.status?.phase === 'Deleted' || nodeStateOf(node).kind === 'lost')
        await ignoring(resource.delete(name, { preconditions: { uid } }), isNotFound);
      else if (!volume.spec.deleted)
        wrote(await resource.patch(name, { type: 'merge', patch: { metadata: { uid }, spec: { deleted: true } } }));
      return done;
    });
}

interface Copies {
  readonly nodes: Informer<GPUNode>;
  readonly volumes: Informer<NodeVolume>;
}

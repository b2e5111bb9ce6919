import {
  type Allocation,
  allocationKind,
  type FleetQuota,
  fleetQuotaKind,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  type NodeVolume,
  nodeVolumeKind,
  storageSource,
} from '@capstan/api';
import { clusterOf, formatKey, type Informer, type InformerFactory, type ObjectKey, objectKey } from '@capstan/client';
import { unitsMounting } from '../units/mounts.ts';

const byStorage = 'storage';
const byNode = 'node';
const bySource = 'source';
const byClass = 'class';

/** The local copies that decisions about storages read. */
export interface Copies {
  readonly storages: Informer<GPUStorage>;
  readonly units: Informer<GPUUnit>;
  readonly allocations: Informer<Allocation>;
  readonly volumes: Informer<NodeVolume>;
  readonly nodes: Informer<GPUNode>;
  readonly quotas: Informer<FleetQuota>;
}

/** `there` are the informers of root:platform. */
export function copiesOf(informers: InformerFactory, there: InformerFactory): Copies {
  const storages = informers.informer<GPUStorage>(gpuStorageKind);
  storages.addIndex(bySource, (one) => {
    const source = storageSource(one.spec);
    return source === undefined ? [] : [formatKey(siblingKey(one, source.name))];
  });
  storages.addIndex(byClass, ({ spec }) => [spec.class]);
  return {
    storages,
    units: unitsMounting(informers.informer<GPUUnit>(gpuUnitKind)),
    allocations: informers.informer<Allocation>(allocationKind),
    volumes: volumesOf(there),
    nodes: there.informer<GPUNode>(gpuNodeKind),
    quotas: there.informer<FleetQuota>(fleetQuotaKind),
  };
}

export function volumesOf(there: InformerFactory): Informer<NodeVolume> {
  const volumes = there.informer<NodeVolume>(nodeVolumeKind);
  volumes.addIndex(byStorage, (one) => [formatKey(ownerKey(one))]);
  volumes.addIndex(byNode, ({ metadata }) => [metadata.namespace ?? '']);
  return volumes;
}

export const volumesFor = (volumes: Informer<NodeVolume>, key: ObjectKey): NodeVolume[] => volumes.byIndex(byStorage, formatKey(key));
export const volumesOn = (volumes: Informer<NodeVolume>, namespace: string): NodeVolume[] => volumes.byIndex(byNode, namespace);
/** The storages that are to be copies of one. */
export const copiesFrom = (storages: Informer<GPUStorage>, storage: GPUStorage): ObjectKey[] =>
  storages.byIndex(bySource, formatKey(objectKey(storage))).map(objectKey);

/** The storages that a node can have, because it has their directories. */
export const storagesSharedBy = (storages: Informer<GPUStorage>, { status }: GPUNode): ObjectKey[] =>
  (status?.sharedDirectories ?? []).flatMap(({ name }) => storages.byIndex(byClass, name).map(objectKey));

export function ownerKey({ spec }: NodeVolume): ObjectKey {
  const { cluster, namespace, name } = spec.owner;
  return { cluster, namespace, name };
}

/** An object of another name beside one. */
export function siblingKey(one: GPUStorage | GPUUnit, name: string): ObjectKey {
  const cluster = clusterOf(one);
  return { ...(cluster !== undefined && { cluster }), namespace: one.metadata.namespace, name };
}

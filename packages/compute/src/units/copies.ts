import {
  type Allocation,
  allocationKind,
  type GPUNode,
  type GPUStorage,
  type GPUUnit,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  type NodeBooking,
  type NodeUnit,
  nodeBookingKind,
  nodeUnitKind,
  type Offering,
  offeringKind,
  unitLabel,
} from '@capstan/api';
import { formatKey, type Informer, type InformerFactory, type ObjectKey } from '@capstan/client';
import { controllerOf, type Predicate } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type Lease, LeaseTimes } from './lease-times.ts';
import { unitsMounting } from './mounts.ts';
import { nodeStateOf } from './nodes.ts';

export const podKind = { group: '', version: 'v1', resource: 'pods', namespaced: true };
export const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };
export const unitPods = { labelSelector: unitLabel };

const byOwner = 'unit';
const byName = 'name';
const byNode = 'node';

/** The local copies that decisions about units read. */
export interface Copies {
  readonly units: Informer<GPUUnit>;
  readonly storages: Informer<GPUStorage>;
  readonly allocations: Informer<Allocation>;
  readonly pods: Informer;
  readonly nodeUnits: Informer<NodeUnit>;
  readonly nodes: Informer<GPUNode>;
  readonly bookings: Informer<NodeBooking>;
  readonly offerings: Informer<Offering>;
  readonly leases: LeaseTimes;
}

/** `there` are the informers of root:platform. */
export function copiesOf(informers: InformerFactory, there: InformerFactory, now: () => number): Copies {
  const allocations = informers.informer<Allocation>(allocationKind);
  allocations.addIndex(byOwner, (one) => [controllerOf(one)?.uid ?? '']);
  const leases = new LeaseTimes(now);
  there.informer<Lease>(leaseKind).onChange(({ type, object }) => {
    if (type === 'deleted') leases.forget(object.metadata.name ?? '');
    else leases.see(object);
  });
  return {
    units: unitsMounting(informers.informer<GPUUnit>(gpuUnitKind)),
    storages: informers.informer<GPUStorage>(gpuStorageKind),
    allocations,
    pods: informers.informer(podKind, unitPods),
    nodeUnits: nodeUnitsOf(there),
    nodes: there.informer<GPUNode>(gpuNodeKind),
    bookings: there.informer<NodeBooking>(nodeBookingKind),
    offerings: there.informer<Offering>(offeringKind),
    leases,
  };
}

export function nodeUnitsOf(there: InformerFactory): Informer<NodeUnit> {
  const nodeUnits = there.informer<NodeUnit>(nodeUnitKind);
  nodeUnits.addIndex(byOwner, ({ spec }) => [spec.owner.uid]);
  nodeUnits.addIndex(byName, (one) => [formatKey(ownerKey(one))]);
  nodeUnits.addIndex(byNode, ({ metadata }) => [metadata.namespace ?? '']);
  return nodeUnits;
}

export const ownedBy = <T extends KubeObject>(informer: Informer<T>, uid: string): T[] => informer.byIndex(byOwner, uid);
/** The NodeUnits of units with this name, also of one that was deleted before. */
export const ownedByName = (nodeUnits: Informer<NodeUnit>, key: ObjectKey): NodeUnit[] => nodeUnits.byIndex(byName, formatKey(key));
export const unitsOn = (nodeUnits: Informer<NodeUnit>, namespace: string): NodeUnit[] => nodeUnits.byIndex(byNode, namespace);

/** The units of NodeUnits; warm ones belong to nobody. */
export const ownerKeys = (nodeUnits: readonly NodeUnit[]): ObjectKey[] => nodeUnits.filter(({ spec }) => !spec.warm).map(ownerKey);

export function ownerKey({ spec }: NodeUnit): ObjectKey {
  const { cluster, namespace, name } = spec.owner;
  return { cluster, namespace, name };
}

/** Agents report often; only this concerns units. */
export const nodeConcernsUnits: Predicate<GPUNode> = (change) =>
  change.type !== 'updated' || factsOf(change.object) !== factsOf(change.old);

function factsOf(node: GPUNode): string {
  return JSON.stringify([nodeStateOf(node), node.status?.unitDrivers, node.status?.sharedDirectories]);
}

import {
  type Allocation,
  type AllocationSpec,
  allocationFinalizer,
  allocationKind,
  type BookingEntry,
  type GPUUnit,
  type NodeUnit,
  newObject,
  nodeNamespace,
  nodeUnitKind,
  nodeUnitName,
} from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { withController, withRequester } from '@capstan/controller';
import { directoryOf, type Mounts, storageNames } from './mounts.ts';
import { addressOf } from './nodes.ts';
import { programFields } from './program.ts';
import type { Scene } from './scene.ts';

const longestName = 253;

/** The name of the Allocation of a start. Nobody else comes to the same one by chance. */
export function allocationName({ metadata: { name = '', uid = '' } }: GPUUnit, run: number): string {
  const suffix = `-${uid.slice(0, 8)}-${run}`;
  return `${name.slice(0, longestName - suffix.length)}${suffix}`;
}

/** `node` has the storages of the unit, if there is one. */
export function allocationFor(
  unit: GPUUnit,
  { node, directories = [] }: Partial<Pick<Mounts & { kind: 'ready' }, 'node' | 'directories'>> = {},
): Allocation {
  const { offering, resources, nodes, priority } = unit.spec;
  const spec = {
    ...(offering !== undefined && { offering }),
    ...(resources && { resources }),
    nodes,
    ...(node !== undefined && { node }),
    ...(directories.length > 0 && { directories }),
    priority,
  } as AllocationSpec;
  // The scheduler would add the finalizer before it grants something, by a write of its own.
  const finalizers = [allocationFinalizer];
  const metadata = { name: unit.status?.allocation ?? '', namespace: unit.metadata.namespace ?? '', finalizers };
  return withRequester(withController(newObject(allocationKind, { metadata, spec }) as Allocation, unit), unit);
}

/** The NodeUnit of the current start on one of its nodes. It never has more than the booking says. */
export function nodeUnitFor(
  { unit, node, storage }: Pick<Scene, 'unit' | 'node' | 'storage'>,
  { allocation, entry, rank }: { readonly allocation: Allocation; readonly entry: BookingEntry; readonly rank: number },
): NodeUnit {
  const { name = '', namespace = '', uid = '' } = unit.metadata;
  const { idleTimeout } = unit.spec;
  const { run = 0, members = [] } = unit.status ?? {};
  const peers = members.map((one) => ({ rank: one.rank, address: addressOf(node(one.node), one.node) }));
  const storages = storageNames(unit).flatMap((one) => {
    const found = storage(one);
    const uid = found?.status?.volume;
    const directory = found && directoryOf(found);
    return uid === undefined ? [] : [{ storage: one, uid, ...(directory && { directory }) }];
  });
  const exclusive = entry.exclusive ?? false;
  const spec: NodeUnit['spec'] = {
    ...programFields(unit.spec),
    owner: { cluster: clusterOf(unit) ?? '', namespace, name, uid },
    run,
    allocation: allocation.metadata.uid ?? '',
    devices: entry.devices,
    cpu: exclusive ? 0 : entry.cpu,
    memory: exclusive ? 0 : entry.memory,
    exclusive,
    rank,
    ...(peers.length > 1 && { peers }),
    ...(storages.length > 0 && { storages }),
    ...(idleTimeout !== undefined && { idleTimeout }),
  };
  const metadata = { name: nodeUnitName(uid, run), namespace: nodeNamespace(members[rank]!.node) };
  return withRequester(newObject(nodeUnitKind, { metadata, spec }) as NodeUnit, unit);
}

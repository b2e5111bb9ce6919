import { directoryLabel, type GPUNode, type NodeGpu } from '@capstan/api';
import { findCondition } from '@capstan/controller';
import type { Device, FleetNode } from '@capstan/fleet';

/** The pool of nodes whose owner names none. */
const defaultPool = 'default';

/** A node as placement sees it. A node that is being removed gets nothing new. */
export function fleetNodeOf(node: GPUNode): FleetNode {
  const { metadata, spec, status } = node;
  const { name = '', labels = {}, deletionTimestamp } = metadata;
  const { cpus = 0, memoryBytes = 0 } = status?.machine ?? {};
  return {
    name,
    pool: spec?.pool ?? defaultPool,
    labels: { ...labels, ...Object.fromEntries((status?.sharedDirectories ?? []).map((one) => [directoryLabel(one.name), one.id])) },
    cordoned: spec?.unschedulable === true || spec?.maintenance === true || spec?.lost === true || deletionTimestamp !== undefined,
    ready: readinessOf(node),
    cpu: cpus * 1000,
    memory: memoryBytes,
    gpus: (status?.gpus ?? []).flatMap(devicesOf),
    ...(findCondition(status?.conditions, 'Clean')?.status === 'False' && { isUnclean: true }),
  };
}

/** `Unknown` until an agent has reported. */
export function readinessOf({ status }: GPUNode): FleetNode['ready'] {
  return findCondition(status?.conditions, 'Ready')?.status ?? 'Unknown';
}

/** A GPU that could never be read has no model, so nobody can ask for it. */
function devicesOf(gpu: NodeGpu): Device[] {
  const { uuid, model, memoryBytes = 0, linkGroup, numaNode, mig } = gpu;
  if (model === undefined) return [];
  const shared = { model, health: gpu.health.state, ...(numaNode !== undefined && { numa: numaNode }) };
  if (mig?.mode === 'enabled')
    return mig.devices.map((one) => ({ ...shared, uuid: one.uuid, memory: one.memoryBytes, migProfile: one.profile }));
  return [{ ...shared, uuid, memory: memoryBytes, ...(linkGroup !== undefined && { nvlink: linkGroup }) }];
}

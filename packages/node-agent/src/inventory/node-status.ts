import type {
  Condition,
  GPUNode,
  GpuInventory,
  GpuStatus,
  NodeAddress,
  NodeDriver,
  NodeGpu,
  NodeMachine,
  NodeUnitDriver,
  SharedDirectory,
} from '@capstan/api';

/** The part of the status of a GPUNode that its agent writes. */
export type ReportedStatus = Pick<
  NonNullable<GPUNode['status']>,
  'machine' | 'gpuSummary' | 'gpus' | 'drivers' | 'unitDrivers' | 'sharedDirectories' | 'volumes' | 'addresses' | 'conditions'
>;

export interface Facts {
  readonly machine: NodeMachine;
  readonly addresses: readonly NodeAddress[];
  readonly inventories: readonly GpuInventory[];
  readonly gpus: readonly GpuStatus[];
  readonly unitDrivers: readonly NodeUnitDriver[];
  readonly sharedDirectories?: readonly SharedDirectory[];
  readonly volumes?: ReportedStatus['volumes'];
  /** Beside the one about GPUs. */
  readonly conditions?: readonly Condition[];
  /** The time at which the agent started. */
  readonly startedAt: string;
}

/** Contains nothing that changes from sample to sample: it is written only when it differs. */
export function nodeStatus(facts: Facts): ReportedStatus {
  const { machine, addresses, inventories, gpus, unitDrivers, sharedDirectories = [], volumes, conditions = [], startedAt } = facts;
  const groups = linkGroups(inventories);
  return {
    machine,
    addresses,
    gpus: gpus.map((status) => nodeGpu(status, groups.get(status.uuid))),
    gpuSummary: summaryOf(gpus),
    drivers: inventories.map(driverOf),
    unitDrivers,
    ...(sharedDirectories.length > 0 && { sharedDirectories }),
    ...(volumes !== undefined && { volumes }),
    conditions: [gpuCondition(gpus, startedAt), ...conditions],
  };
}

function nodeGpu({ uuid, pciBusId, health, gpu }: GpuStatus, linkGroup: string | undefined): NodeGpu {
  const { state, reason, message, since } = health;
  const bus = gpu?.pciBusId ?? pciBusId;
  return {
    uuid,
    health: { state, reason: reason.slice(0, 64), message: message.slice(0, 1024), since: timeOf(since) },
    ...(bus !== undefined && { pciBusId: bus }),
    ...(linkGroup !== undefined && { linkGroup }),
    ...(gpu !== undefined && {
      model: gpu.model,
      productName: gpu.productName,
      memoryBytes: gpu.memoryBytes,
      ...(gpu.numaNode !== undefined && gpu.numaNode >= 0 && { numaNode: gpu.numaNode }),
      ...(gpu.deviceFiles.length > 0 && { deviceFiles: gpu.deviceFiles }),
      mig: {
        mode: gpu.mig.mode,
        devices: gpu.mig.devices.map(({ uuid: device, profile, memoryBytes }) => ({ uuid: device, profile, memoryBytes })),
      },
    }),
  };
}

/** The name of the group of each GPU that is in one. */
function linkGroups(inventories: readonly GpuInventory[]): Map<string, string> {
  const all = inventories.flatMap((inventory) => inventory.linkGroups);
  return new Map(all.flatMap(({ kind, gpus }, index) => gpus.map((uuid) => [uuid, `${kind.toLowerCase()}-${index}`])));
}

function driverOf({ source, driverVersion, runtime }: GpuInventory): NodeDriver {
  return {
    source,
    ...(driverVersion !== undefined && { version: driverVersion }),
    ...(runtime !== undefined && { runtime: `${runtime.name} ${runtime.version}` }),
  };
}

/** `8×H200`, or `4×A100 2×L4`; `none` without GPUs. */
export function summaryOf(gpus: readonly GpuStatus[]): string {
  const models = Map.groupBy(gpus, ({ gpu }) => gpu?.model ?? 'unknown');
  const words = [...models].map(([model, { length }]) => `${length}×${model}`);
  return words.length === 0 ? 'none' : words.join(' ').slice(0, 253);
}

function gpuCondition(gpus: readonly GpuStatus[], startedAt: string): Condition {
  const type = 'GPUsHealthy';
  const bad = gpus.filter(({ health: { state } }) => state === 'Failed' || state === 'Missing');
  const unsure = gpus.filter(({ health: { state } }) => state === 'Unknown');
  const latest = Math.max(Date.parse(startedAt), ...gpus.map(({ health }) => health.since));
  const lastTransitionTime = timeOf(latest);
  const message = [...bad, ...unsure]
    .map(({ health }) => health.message)
    .join('; ')
    .slice(0, 4096);
  if (bad.length > 0)
    return { type, status: 'False', reason: bad[0]!.health.state === 'Missing' ? 'GPUMissing' : 'GPUFailed', message, lastTransitionTime };
  if (unsure.length > 0) return { type, status: 'Unknown', reason: 'GPUsNotObserved', message, lastTransitionTime };
  const reason = gpus.length === 0 ? 'NoGPUs' : 'AllHealthy';
  return { type, status: 'True', reason, message: `${gpus.length} GPUs`, lastTransitionTime };
}

const timeOf = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

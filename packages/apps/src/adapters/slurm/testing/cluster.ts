import type { JsonObject } from '@capstan/machinery/objects';
import type { AdapterGpu, AdapterMember, PlanRequest } from '../../../adapter/contract.ts';

export interface PretendMember {
  readonly component?: string;
  readonly gpus?: readonly Partial<AdapterGpu>[];
  readonly isWanted?: boolean;
  readonly hasJoined?: boolean;
  readonly isReady?: boolean;
  readonly hostname?: string;
}

/** A member on the machine `g1` with the address 10.0.0.<position>. */
export function pretendMember(name: string, position: number, options: PretendMember = {}): AdapterMember {
  const { component = 'compute', gpus = [], isWanted = true, hasJoined = true, isReady = true, hostname = `${name}.example` } = options;
  return {
    name: `lab-${name}`,
    component,
    allocation: name,
    state: 'running',
    isWanted,
    hasJoined,
    node: {
      name,
      address: `10.0.0.${position}`,
      hostname,
      cpus: 8,
      memoryMiB: 64_000,
      isReady,
      gpus: gpus.map((gpu, index) => ({ uuid: `GPU-${name}-${index}`, model: 'NVIDIA H200', index, isHealthy: true, ...gpu })),
    },
  };
}

export interface PretendOperation {
  readonly type: string;
  readonly member?: string;
  readonly parameters?: JsonObject;
}

export function pretendRequest(
  members: readonly AdapterMember[],
  { type, member, parameters = {} }: PretendOperation,
  settings: JsonObject = {},
): PlanRequest {
  return {
    instance: {
      id: '0b1f',
      name: 'lab',
      namespace: 'default',
      workspace: 'root:vision',
      app: 'slurm',
      version: 'debian',
      artifacts: {},
      placement: {},
      parameters: settings,
    },
    members,
    facts: {},
    operation: { id: 'op-7', type, parameters, ...(member !== undefined && { member }) },
  };
}

/** A controller, two nodes with two GPUs each, and a login machine. */
export function pretendCluster(changes: Readonly<Record<string, PretendMember>> = {}): AdapterMember[] {
  const gpus = [{ device: '/dev/nvidia0' }, { device: '/dev/nvidia1' }];
  return [
    pretendMember('c1', 1, { component: 'controller', ...changes['c1'] }),
    pretendMember('g1', 2, { gpus, ...changes['g1'] }),
    pretendMember('g2', 3, { gpus, ...changes['g2'] }),
    pretendMember('l1', 4, { component: 'login', ...changes['l1'] }),
  ];
}

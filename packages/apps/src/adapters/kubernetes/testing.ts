import type { AdapterInstance, AdapterMember, Facts, PlanRequest } from '../../adapter/contract.ts';
import { distributions } from './distribution.ts';

export function instanceOf(overrides: Partial<AdapterInstance> = {}): AdapterInstance {
  return {
    id: '6f1c2f4e-0d5e-4a3f-9d6a-0d8a5a4d6b11',
    name: 'lab',
    namespace: 'default',
    workspace: 'root:main:vision',
    app: 'rke2',
    version: 'v1.34.1+rke2r1',
    artifacts: Object.fromEntries(
      distributions.flatMap(({ artifacts }) =>
        artifacts.flatMap(({ name }) => (name.startsWith('device-plugin') ? [] : [[name, 'a'.repeat(64)]])),
      ),
    ),
    placement: { server_allocation_id: 'a1', agent_allocation_ids: ['a2', 'a3'] },
    parameters: {},
    ...overrides,
  };
}

/** `server 1` on node `gpu-1` with the allocation `a1`. */
export function memberOf(component: 'server' | 'agent', index: number, overrides: Partial<AdapterMember> = {}): AdapterMember {
  return {
    name: `lab-${component}-${index}`,
    component,
    allocation: `a${index}`,
    node: {
      name: `gpu-${index}`,
      address: `192.0.2.${10 + index}`,
      hostname: `gpu-${index}`,
      cpus: 8,
      memoryMiB: 65_536,
      gpus: [],
      isReady: true,
    },
    state: 'pending',
    isWanted: true,
    hasJoined: false,
    ...overrides,
  };
}

export const joined = { hasJoined: true, state: 'running' };

export interface RequestOptions {
  readonly members?: readonly AdapterMember[];
  readonly instance?: AdapterInstance;
  readonly facts?: Facts;
  readonly operation?: Partial<PlanRequest['operation']>;
}

export function requestOf(type: string, { members, instance, facts, operation }: RequestOptions = {}): PlanRequest {
  return {
    instance: instance ?? instanceOf(),
    members: members ?? [memberOf('server', 1), memberOf('agent', 2), memberOf('agent', 3)],
    facts: facts ?? {},
    operation: { id: 'op-1', type, parameters: {}, ...operation },
  };
}

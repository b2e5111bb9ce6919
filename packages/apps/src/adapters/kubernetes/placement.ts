import { type AdapterInstance, AdapterProblem, type MembersAnswer } from '../../adapter/contract.ts';
import { distributionOf } from './distribution.ts';

interface Placement {
  readonly servers: readonly string[];
  readonly agents: readonly string[];
}

/** JSON schema of `placement`. One of the first two fields is required. */
export const placementSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    server_allocation_id: { type: 'string', format: 'allocation', description: 'The allocation whose node becomes the server.' },
    server_allocation_ids: {
      type: 'array',
      description: 'Instead of server_allocation_id: an odd number of allocations whose nodes become servers, so that one may fail.',
      items: { type: 'string', format: 'allocation' },
      minItems: 1,
      maxItems: 7,
    },
    agent_allocation_ids: {
      type: 'array',
      description: 'The allocations whose nodes become agents.',
      items: { type: 'string', format: 'allocation' },
      maxItems: 500,
    },
  },
};

/** The members that a placement asks for, the servers first. The platform says itself which allocations it waits for, and which can never be used. */
export function membersOf(instance: AdapterInstance): MembersAnswer {
  const { servers, agents } = placementOf(instance);
  const { program, mostServers } = distributionOf(instance.app);
  if (servers.length > mostServers)
    throw new AdapterProblem('TooManyServers', `expected at most ${mostServers} servers of ${program}, found ${servers.length}`);
  const all = [...servers, ...agents];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined) {
    const both = servers.includes(twice) && agents.includes(twice);
    throw new AdapterProblem(
      both ? 'ServerIsAgent' : 'AllocationNamedTwice',
      both ? `the allocation ${twice} is a server and an agent; a node can be only one of them` : `the allocation ${twice} is named twice`,
    );
  }
  return {
    members: [
      ...servers.map((allocation) => ({ component: 'server', allocation })),
      ...agents.map((allocation) => ({ component: 'agent', allocation })),
    ],
  };
}

function placementOf({ placement }: AdapterInstance): Placement {
  const { server_allocation_id: one, server_allocation_ids: several, agent_allocation_ids: agents } = placement;
  if (one !== undefined && several !== undefined)
    throw new AdapterProblem('InvalidPlacement', 'expected server_allocation_id or server_allocation_ids, found both');
  const servers = names(several ?? (one === undefined ? [] : [one]), 'server_allocation_id');
  if (servers.length === 0)
    throw new AdapterProblem('ServerRequired', 'the placement has no server; name an allocation in server_allocation_id');
  if (servers.length % 2 === 0)
    throw new AdapterProblem(
      'EvenServers',
      `expected an odd number of servers, found ${servers.length}; an even number tolerates no more failures`,
    );
  return { servers, agents: names(agents ?? [], 'agent_allocation_ids') };
}

function names(value: unknown, field: string): readonly string[] {
  if (Array.isArray(value) && value.every((one): one is string => typeof one === 'string' && one !== '')) return value;
  throw new AdapterProblem('InvalidPlacement', `expected names of allocations in ${field}`);
}

import { nodeNamespace } from '@capstan/api';
import { createPlatform, fleetPath } from '@capstan/apiserver/testing-fleet';
import type { Connection } from '@capstan/testbed';
import { callsTo, enrollMany } from '../streams/fleet.ts';

/** A node agent, as its machine knows it. The keys are PEM. */
export interface HostileAgent {
  readonly node: string;
  readonly certificate: string;
  readonly key: string;
}

/** The names of its NodeTask and of its NodeUnit. */
export const agentWork = 'hostile';

/** The kinds of the fleet, one node, and the work that its agent may report about. */
export async function makeFleet(address: Connection): Promise<HostileAgent> {
  using server = callsTo(address);
  await createPlatform(server);
  const [agent] = await enrollMany(address, 1);
  const { node, certificate, key } = agent!;
  await makeWork(address, node);
  return { node, certificate, key: key.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** A NodeTask and a NodeUnit, for the reports of the agent of a node. */
export async function makeWork(address: Connection, node: string): Promise<void> {
  using server = callsTo(address);
  const make = async (resource: string, kind: string, spec: object): Promise<void> => {
    const body = { apiVersion: 'fleet.capstan.dev/v1alpha1', kind, metadata: { name: agentWork }, spec };
    const { code, text } = await server.call(`${fleetPath}/namespaces/${nodeNamespace(node)}/${resource}`, { method: 'POST', body });
    if (code !== 201) throw new Error(`the ${kind} could not be made: ${text}`);
  };
  await make('nodetasks', 'NodeTask', { type: 'gpu.inspect', gpuInspect: {} });
  const owner = { cluster: 'attacker', namespace: 'default', name: agentWork, uid: agentWork };
  await make('nodeunits', 'NodeUnit', { owner, run: 1, allocation: agentWork, devices: [], cpu: 1, memory: 1, command: ['true'] });
}

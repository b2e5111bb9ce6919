import { type GPUNode, gpuNodeKind, isNodeName, nodeNamespace, platformWorkspace } from '@capstan/api';
import { ApiError, type Client, isNotFound } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { invite } from '../nodes/enrollment.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { bookedOn } from './node-state.ts';

export interface EnrollFlags extends ConnectionFlags {
  readonly minutes: number;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };
const platformOf = (client: Client): Client => client.cluster(platformWorkspace);

/** Creates a token for one machine, and prints the command that makes it the node. */
export async function enrollNode(node: string, { minutes, ...flags }: EnrollFlags): Promise<void> {
  if (!isNodeName(node))
    throw new Failure(
      'usage',
      `expected a name of at most 58 lower-case letters, digits and hyphens for the node, found ${JSON.stringify(node)}.`,
    );
  using client = workspaceClient(flags);
  const { server, token, authorityHash } = await installed(invite(client, { node, minutes }));
  write(`capstan node-agent --server ${server} --token ${token} --ca-hash ${authorityHash}`);
}

/** Lists the nodes: whether their agents are alive, and whether they are locked. */
export async function listNodes(flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  const { items } = await installed(platformOf(client).resource<GPUNode>(gpuNodeKind).list());
  if (items.length === 0) return write('No nodes. Enrol a machine with "capstan node enroll <name>".');
  const rows = await Promise.all(
    items.map(async (node) => {
      const { identity } = node.status ?? {};
      return [node.metadata.name ?? '', await stateOf(client, node), String(identity?.generation ?? 0), identity?.expiresAt ?? '-'];
    }),
  );
  for (const line of columns([['NAME', 'STATE', 'GENERATION', 'EXPIRES'], ...rows])) write(line);
}

async function stateOf(client: Client, { metadata: { name = '' }, status }: GPUNode): Promise<string> {
  if (status?.identity === undefined) return 'NotEnrolled';
  if (status.identity.locked !== undefined) return 'Locked';
  try {
    const lease = await platformOf(client)
      .resource<KubeObject & { spec?: { renewTime?: string; leaseDurationSeconds?: number } }>(leaseKind)
      .in(nodeNamespace(name))
      .get(name);
    const { renewTime = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
    return Date.parse(renewTime) + leaseDurationSeconds * 1000 > Date.now() ? 'Ready' : 'Unknown';
  } catch (error) {
    if (isNotFound(error)) return 'Unknown';
    throw error;
  }
}

/** Ends the identity of a node at once. */
export async function removeNode(node: string, flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  await found(node, platformOf(client).resource<GPUNode>(gpuNodeKind).delete(node));
  const { left } = await bookedOn(client, node);
  write(
    left.length === 0
      ? `The node ${node} was removed. Its agent is no longer accepted.`
      : `The agent of the node ${node} is no longer accepted. The node is removed when these allocations are deleted: ${left.join(', ')}.`,
  );
}

/** Enrols a locked node again, and prints the command for the right machine. */
export async function unlockNode(node: string, flags: EnrollFlags): Promise<void> {
  using client = workspaceClient(flags);
  const { status } = await found(node, platformOf(client).resource<GPUNode>(gpuNodeKind).get(node));
  if (status?.identity?.locked === undefined) throw new Failure('usage', `the node ${node} is not locked.`);
  await enrollNode(node, flags);
}

async function found<T>(node: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) throw new Failure('usage', `there is no node ${node}; "capstan node list" lists all.`, error);
    throw error;
  }
}

/** The kinds are installed by the platform, some time after the first start. */
async function installed<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 404)
      throw new Failure(
        'unexpected',
        `the server has no nodes yet: ${gpuNodeKind.group} is not installed in ${platformWorkspace}. Try again later.`,
        error,
      );
    throw error;
  }
}

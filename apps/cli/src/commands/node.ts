import { agentCommand, type GPUNode, gpuNodeKind, installCommand, isNodeName, nodeEnrollmentKind, platformWorkspace } from '@capstan/api';
import type { Client } from '@capstan/client';
import { Failure } from '../failure.ts';
import { found } from '../nodes/answers.ts';
import { invite } from '../nodes/enrollment.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { onceInstalled } from '../workspaces/once-served.ts';
import { bookedOn } from './node-state.ts';

export interface EnrollFlags extends ConnectionFlags {
  readonly minutes: number;
  /** For a machine that has the command. */
  readonly installed?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const platformOf = (client: Client): Client => client.cluster(platformWorkspace);

/** Creates a token for one machine, and prints the command that makes it the node. */
export async function enrollNode(node: string, { minutes, installed: isInstalled, ...flags }: EnrollFlags): Promise<void> {
  if (!isNodeName(node))
    throw new Failure(
      'usage',
      `expected a name of at most 58 lower-case letters, digits and hyphens for the node, found ${JSON.stringify(node)}.`,
    );
  using client = workspaceClient(flags);
  const invitation = await onceInstalled({ client, kind: nodeEnrollmentKind }, () => invite(client, { node, minutes }));
  write(isInstalled === true ? agentCommand(invitation) : installCommand(invitation));
}

/** Ends the identity of a node at once. */
export async function removeNode(node: string, flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  await found(node, platformOf(client).resource<GPUNode>(gpuNodeKind).delete(node));
  const { owned: left } = await bookedOn(client, node);
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

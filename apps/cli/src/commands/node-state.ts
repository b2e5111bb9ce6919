import { type GPUNode, gpuNodeKind, type NodeBooking, nodeBookingKind, platformWorkspace } from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { allocationWords, isInPlatformHands } from '@capstan/fleet';
import { Failure } from '../failure.ts';
import { tellTrouble } from '../following.ts';
import { watchObject } from '../units/watch.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

export async function cordonNode(node: string, flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  await change(client, node, { unschedulable: true });
  write(`The node ${node} gets no new allocations.`);
}

export async function uncordonNode(node: string, flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  await change(client, node, { unschedulable: false, maintenance: false });
  write(`The node ${node} may get allocations again.`);
}

export async function maintainNode(node: string, { off, ...flags }: ConnectionFlags & { readonly off?: boolean }): Promise<void> {
  using client = workspaceClient(flags);
  await change(client, node, { maintenance: off !== true });
  write(
    off === true ? `The maintenance of the node ${node} has ended.` : `The node ${node} is in maintenance, and gets no new allocations.`,
  );
}

/** Nothing of a tenant is ended here: with `wait`, it ends when all allocations on the node were deleted. */
export async function drainNode(node: string, { wait, ...flags }: ConnectionFlags & { readonly wait?: boolean }): Promise<void> {
  using client = workspaceClient(flags);
  await change(client, node, { unschedulable: true });
  write(`The node ${node} gets no new allocations.`);
  const bookings = client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind);
  if (wait === true) return untilFree(bookings, node, write);
  const { left } = await bookedOn(client, node);
  write(remaining(node, left));
}

/** Resolves when nothing is booked on the node, whatever happens to the connection meanwhile. Writes what is left whenever that changes. */
export async function untilFree(bookings: Resource<NodeBooking>, node: string, tell: (line: string) => void): Promise<void> {
  let told = '';
  for await (const { spec } of watchObject(bookings, { name: node, onTrouble: tellTrouble })) {
    const left = namesIn(spec);
    const line = remaining(node, left);
    if (line !== told) tell((told = line));
    if (left.length === 0) return;
  }
  // A node that never had an allocation has no booking.
  tell(remaining(node, []));
}

/** The allocations that have something on a node, and those that have left something there. */
export async function bookedOn(
  client: Client,
  node: string,
): Promise<{ readonly left: readonly string[]; readonly owned: readonly string[] }> {
  const booking = await ignoring(client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind).get(node), isNotFound);
  const entries = booking?.spec.entries ?? [];
  const owned = entries.filter(({ state }) => !isInPlatformHands(state));
  return { left: namesIn({ entries }), owned: namesIn({ entries: owned }) };
}

function namesIn({ entries }: NodeBooking['spec']): string[] {
  return entries.map(
    ({ allocation, state }) => allocationWords(allocation) + (isInPlatformHands(state) ? ' (deleted, being cleaned)' : ''),
  );
}

function remaining(node: string, left: readonly string[]): string {
  return left.length === 0 ? `Nothing is booked on ${node}.` : `Still booked on ${node}: ${left.join(', ')}.`;
}

async function change(
  client: Client,
  node: string,
  spec: { readonly unschedulable?: boolean; readonly maintenance?: boolean },
): Promise<void> {
  const nodes = client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind);
  const changed = await ignoring(nodes.patch(node, { type: 'merge', patch: { spec } }), isNotFound);
  if (changed === undefined) throw new Failure('usage', `there is no node ${node}; "capstan node list" lists all.`);
}

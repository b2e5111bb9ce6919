import { type GPUNode, gpuNodeKind, type NodeBooking, nodeBookingKind, platformWorkspace } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { allocationWords, isInPlatformHands } from '@capstan/fleet';
import { Failure } from '../failure.ts';
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
  const { left, resourceVersion } = await bookedOn(client, node);
  write(remaining(node, left));
  if (wait !== true || left.length === 0) return;
  const bookings = client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind);
  for await (const { type, object } of bookings.watch({ resourceVersion, fieldSelector: `metadata.name=${node}` })) {
    if (type === 'BOOKMARK') continue;
    const now = type === 'DELETED' ? [] : namesIn(object.spec);
    write(remaining(node, now));
    if (now.length === 0) return;
  }
}

/** The allocations that have something on a node, and those that have left something there. */
export async function bookedOn(
  client: Client,
  node: string,
): Promise<{ readonly left: readonly string[]; readonly owned: readonly string[]; readonly resourceVersion: string }> {
  const booking = await ignoring(client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind).get(node), isNotFound);
  const entries = booking?.spec.entries ?? [];
  const owned = entries.filter(({ state }) => !isInPlatformHands(state));
  return { left: namesIn({ entries }), owned: namesIn({ entries: owned }), resourceVersion: booking?.metadata.resourceVersion ?? '' };
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

import {
  cleaningLabel,
  declaredCleanAnnotation,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeTask,
  nodeBookingKind,
  nodeNamespace,
  platformWorkspace,
} from '@capstan/api';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { cleaningTaskFor, isInPlatformHands } from '@capstan/fleet';
import type { JsonObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { found } from '../nodes/answers.ts';
import { tasksIn } from '../nodes/tasks.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Cleans again after all allocations of which something remains. With `force`, declares the node clean instead. */
export async function cleanNode(node: string, { force, ...flags }: ConnectionFlags & { readonly force?: boolean }): Promise<void> {
  using client = workspaceClient(flags);
  await found(node, client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind).get(node));
  const tasks = tasksIn(client).in(nodeNamespace(node));
  if (force === true) await createMissing(client, node);
  const { items } = await tasks.list({ labelSelector: cleaningLabel });
  const open = items.filter(isUnsuccessful);
  const chosen = force === true ? open : open.filter(hasEnded);
  for (const task of chosen) {
    const { name = '', resourceVersion = '' } = task.metadata;
    const change: JsonObject =
      force === true
        ? { metadata: { resourceVersion, annotations: { [declaredCleanAnnotation]: 'true' } } }
        : { metadata: { resourceVersion }, spec: { attempt: task.spec.attempt + 1, cancelled: false } };
    try {
      await tasks.patch(name, { type: 'merge', patch: change });
    } catch (error) {
      if (isConflict(error)) throw new Failure('unexpected', `the task ${name} has just changed. Try again.`, error);
      throw error;
    }
  }
  write(sentence(node, { chosen: chosen.length, waiting: open.length - chosen.length, isForced: force === true }));
}

/** A silent node may still have units of an allocation, so that no task was created for it. */
async function createMissing(client: Client, node: string): Promise<void> {
  const booking = await ignoring(client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind).get(node), isNotFound);
  for (const entry of booking?.spec.entries ?? [])
    if (isInPlatformHands(entry.state)) await ignoring(tasksIn(client).create(cleaningTaskFor(node, entry)), isAlreadyExists);
}

function sentence(node: string, { chosen, waiting, isForced }: { chosen: number; waiting: number; isForced: boolean }): string {
  const left = (count: number): string => `${count} former allocation${count === 1 ? '' : 's'}`;
  if (chosen > 0)
    return isForced
      ? `The node ${node} is declared clean after ${left(chosen)}. Its devices are given to others.`
      : `The node ${node} is cleaned again after ${left(chosen)}. Next: capstan node show ${node}`;
  return waiting > 0
    ? `The node ${node} is being cleaned after ${left(waiting)}. If it never answers again, "--force" declares it clean.`
    : `The node ${node} is clean.`;
}

function hasEnded({ spec, status }: NodeTask): boolean {
  return status?.finishedAt !== undefined && status.attempt === spec.attempt;
}

function isUnsuccessful(task: NodeTask): boolean {
  const isDeclared = task.metadata.annotations?.[declaredCleanAnnotation] === 'true';
  return !isDeclared && !(hasEnded(task) && task.status?.phase === 'Succeeded');
}

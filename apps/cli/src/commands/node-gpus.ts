import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeTask,
  newObject,
  nodeBookingKind,
  nodeNamespace,
  nodeTaskKind,
  platformWorkspace,
} from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { allocationWords } from '@capstan/fleet';
import type { JsonObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { found } from '../nodes/answers.ts';
import { tasksIn } from '../nodes/tasks.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);
/** In milliseconds, between two looks at a task. */
const interval = 500;

/** Says which GPUs a machine should have: these, or those that it has now. */
export async function expectGpus(
  node: string,
  uuids: readonly string[],
  { off, ...flags }: ConnectionFlags & { readonly off?: boolean },
): Promise<void> {
  if (off === true && uuids.length > 0) throw new Failure('usage', 'expected the UUIDs of GPUs or --off, found both.');
  using client = workspaceClient(flags);
  const present = presentOn(await nodeNamed(client, node));
  if (off === true) {
    await setExpected(client, node, []);
    return write(`No GPUs are expected on ${node} any more. Those that were seen there are still missed if they vanish.`);
  }
  const known = new Map(present.map((gpu) => [gpu.uuid, gpu]));
  const expected = uuids.length === 0 ? present : [...new Set(uuids)].map((uuid) => known.get(uuid) ?? { uuid });
  if (expected.length === 0) throw new Failure('usage', `${node} has no GPUs at present. Name those that it should have by their UUIDs.`);
  await setExpected(client, node, expected);
  write(`${node} should have ${counted(expected.length)}: ${expected.map(({ uuid }) => uuid).join(', ')}.`);
}

/** Forgets GPUs that were taken out of a machine. */
export async function forgetGpus(
  node: string,
  uuids: readonly string[],
  { missing, ...flags }: ConnectionFlags & { readonly missing?: boolean },
): Promise<void> {
  if ((missing === true) === uuids.length > 0) throw new Failure('usage', 'expected the UUIDs of GPUs, or --missing.');
  using client = workspaceClient(flags);
  const { spec, status } = await nodeNamed(client, node);
  const gone = (status?.gpus ?? []).filter(({ health }) => health.state === 'Missing').map(({ uuid }) => uuid);
  const forget = missing === true ? gone : [...new Set(uuids)];
  if (forget.length === 0) return write(`No GPU of ${node} is missing.`);
  await checkFree(client, node, forget);
  const before = spec?.expectedGPUs ?? [];
  const expected = before.filter(({ uuid }) => !forget.includes(uuid));
  if (expected.length < before.length) await setExpected(client, node, expected);
  await accept(client, node, { forget });
}

/** Declares condemned GPUs well. */
export async function clearGpus(node: string, uuids: readonly string[], flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  await nodeNamed(client, node);
  await accept(client, node, { clear: [...new Set(uuids)] });
  write(`A GPU that works is Healthy again after a minute. Next: capstan node show ${node}`);
}

const counted = (count: number): string => (count === 1 ? '1 GPU' : `${count} GPUs`);

function nodeNamed(client: Client, node: string): Promise<GPUNode> {
  return found(node, client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind).get(node));
}

interface Expected {
  readonly uuid: string;
  readonly pciBusId?: string;
}

/** GPUs that could never be read have no UUID of their own yet. */
function presentOn({ status }: GPUNode): Expected[] {
  return (status?.gpus ?? [])
    .filter(({ model, health }) => model !== undefined && health.state !== 'Missing')
    .map(({ uuid, pciBusId }) => ({ uuid, ...(pciBusId !== undefined && { pciBusId }) }));
}

async function setExpected(client: Client, node: string, expected: readonly Expected[]): Promise<void> {
  const patch = { spec: { expectedGPUs: expected.length === 0 ? null : expected } } as unknown as JsonObject;
  await client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind).patch(node, { type: 'merge', patch });
}

async function checkFree(client: Client, node: string, uuids: readonly string[]): Promise<void> {
  const booking = await ignoring(client.cluster(platformWorkspace).resource<NodeBooking>(nodeBookingKind).get(node), isNotFound);
  for (const { allocation, devices } of booking?.spec.entries ?? []) {
    const booked = uuids.find((uuid) => devices.includes(uuid));
    if (booked !== undefined)
      throw new Failure('usage', `${booked} still belongs to ${allocationWords(allocation)}. Forget it when that allocation is deleted.`);
  }
}

/** Resolves when the agent has done it. */
async function accept(client: Client, node: string, gpuAccept: NonNullable<NodeTask['spec']['gpuAccept']>): Promise<void> {
  const tasks = tasksIn(client).in(nodeNamespace(node));
  const name = `gpu-accept-${randomBytes(3).toString('hex')}`;
  const task = { metadata: { name, namespace: nodeNamespace(node) }, spec: { type: 'gpu.accept', gpuAccept } };
  let { status } = await tasks.create(newObject(nodeTaskKind, task as never) as NodeTask);
  for (let looks = 1; status?.finishedAt === undefined; looks++) {
    if (looks === 10) write(`The task ${name} waits for the agent of ${node}.`);
    await sleep(interval);
    ({ status } = await tasks.get(name));
  }
  const { phase, error, report = [] } = status;
  if (phase !== 'Succeeded') throw new Failure('unexpected', `${node} did not accept that: ${error?.message ?? phase}.`);
  for (const { name: uuid, message } of report) write(`${uuid}: ${message}`);
}

import { type NodeTask, nodeNamespace, nodeTaskKind, platformWorkspace, requestedByAnnotation } from '@capstan/api';
import { ApiError, type Client, isConflict, isNotFound } from '@capstan/client';
import { humanDuration } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { followChanges } from '../following.ts';
import { findTask, nodeOf, tasksIn } from '../nodes/tasks.ts';
import { type Column, printList, printOne } from '../output.ts';
import type { OutputFormat } from '../output-format.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

export interface TaskFlags extends ConnectionFlags {
  readonly node?: string;
  readonly output?: OutputFormat;
  /** Go on and print changes. */
  readonly watch?: boolean;
}

export interface LogFlags extends ConnectionFlags {
  readonly node?: string;
  readonly follow?: boolean;
  readonly tail?: number;
  readonly attempt?: number;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const since = (time: string | null | undefined): string | undefined => (time ? humanDuration(Date.now() - Date.parse(time)) : undefined);
const phaseOf = ({ spec, status }: NodeTask): string => (status?.attempt === spec.attempt ? status.phase : 'Pending');

const table: readonly Column<NodeTask>[] = [
  { name: 'NODE', value: nodeOf },
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'TYPE', value: ({ spec }) => spec.type },
  { name: 'PHASE', value: phaseOf },
  { name: 'EXIT', value: ({ status }) => status?.exitCode },
  { name: 'ERROR', value: ({ status }) => status?.error?.code },
  { name: 'AGE', value: ({ metadata }) => since(metadata.creationTimestamp) },
  { name: 'ATTEMPT', value: ({ spec }) => spec.attempt, isWide: true },
  { name: 'STEP', value: ({ status }) => status?.step, isWide: true },
  { name: 'REQUESTED BY', value: ({ metadata }) => metadata.annotations?.[requestedByAnnotation], isWide: true },
];

const details: readonly Column<NodeTask>[] = [
  { name: 'Node', value: nodeOf },
  { name: 'Name', value: ({ metadata }) => metadata.name },
  { name: 'Type', value: ({ spec }) => spec.type },
  { name: 'Phase', value: phaseOf },
  { name: 'Attempt', value: ({ spec }) => spec.attempt },
  { name: 'Requested by', value: ({ metadata }) => metadata.annotations?.[requestedByAnnotation] },
  { name: 'Deadline', value: ({ spec }) => spec.deadline },
  { name: 'Started', value: ({ status }) => status?.startedAt },
  { name: 'Finished', value: ({ status }) => status?.finishedAt },
  { name: 'Step', value: ({ status }) => status?.step },
  { name: 'Nothing to do', value: ({ status }) => (status?.skipped === true ? 'yes' : undefined) },
  { name: 'Exit code', value: ({ status }) => status?.exitCode },
  { name: 'Error', value: ({ status }) => status?.error && `${status.error.code}: ${status.error.message}` },
  {
    name: 'Output',
    value: ({ status }) => status?.output && `${status.output.bytes} bytes${status.output.truncated ? ', the rest was discarded' : ''}`,
  },
];

export async function listTasks({ node, output, watch, ...flags }: TaskFlags): Promise<void> {
  using client = workspaceClient(flags);
  const resource = tasksIn(client).in(node === undefined ? undefined : nodeNamespace(node));
  const { items, metadata } = await resource.list();
  const sorted = items.toSorted((one, other) =>
    (one.metadata.creationTimestamp ?? '') < (other.metadata.creationTimestamp ?? '') ? -1 : 1,
  );
  printList(sorted, { output, table, empty: 'No tasks. Run one with "capstan task run <node> <type>".' });
  if (watch !== true) return;
  await followChanges(resource, {
    resourceVersion: metadata.resourceVersion,
    items,
    lineOf: (task) => [task.spec.type, phaseOf(task), task.status?.step ?? task.status?.error?.code].filter(Boolean).join(', '),
    nameOf: (task) => `${nodeOf(task)}/${task.metadata.name}`,
    write,
  });
}

export async function showTask(name: string, { node, output, ...flags }: TaskFlags): Promise<void> {
  using client = workspaceClient(flags);
  const task = await findTask(client, { name, node });
  printOne(task, { output, table: details });
  if (output !== undefined || task.status?.report === undefined) return;
  write('');
  for (const { name: about, message } of task.status.report) write(`${about}: ${message}`);
}

/** Prints the output of a task. Resolves with an exit code: 1 if the task was followed and has failed. */
export async function printLog(name: string, { node, follow, tail, attempt, ...flags }: LogFlags): Promise<number> {
  using client = workspaceClient(flags);
  // The control plane keeps output of tasks that are deleted, such as those of a node that was removed.
  const hint = ` The output of a deleted task needs the name of its node: --node NODE.`;
  const place = node === undefined ? (await findTask(client, { name, hint })).metadata : { namespace: nodeNamespace(node), name };
  await streamLog(client, place, { follow, tail, attempt }).catch((error: unknown) => {
    if (node !== undefined && isNotFound(error))
      throw new Failure('usage', `there is no output of a task ${name} on the node ${node}.`, error);
    throw error;
  });
  if (follow !== true) return 0;
  const ended = await tasksIn(client)
    .in(place.namespace)
    .get(name)
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  return ended?.status?.finishedAt === undefined || ended.status.phase === 'Succeeded' ? 0 : 1;
}

export async function streamLog(
  client: Client,
  { namespace = '', name = '' }: Pick<NodeTask['metadata'], 'namespace' | 'name'>,
  {
    follow,
    tail,
    attempt,
  }: { readonly follow?: boolean | undefined; readonly tail?: number | undefined; readonly attempt?: number | undefined },
): Promise<void> {
  const query = new URLSearchParams({
    ...(follow === true && { follow: 'true' }),
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(attempt !== undefined && { attempt: String(attempt) }),
  });
  const { group, version, resource } = nodeTaskKind;
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${resource}/${name}/log?${query.toString()}`;
  const answer = await client.cluster(platformWorkspace).send({ method: 'GET', path, dedicated: true });
  let error = '';
  // A task may be silent for as long as its deadline allows.
  await answer.read(2 ** 31 - 1, (text) => {
    if (answer.code !== 200) error += text;
    else if (!process.stdout.write(text)) return new Promise<void>((resolve) => process.stdout.once('drain', resolve));
    return undefined;
  });
  if (answer.code !== 200) throw ApiError.of(answer.code, error, undefined);
}

export async function cancelTask(name: string, { node, ...flags }: TaskFlags): Promise<void> {
  using client = workspaceClient(flags);
  const task = await change(client, { name, node }, (found) => {
    if (found.status?.finishedAt !== undefined && found.status.attempt === found.spec.attempt)
      throw new Failure('usage', `the task ${name} has ended: ${phaseOf(found)}.`);
    return { cancelled: true };
  });
  write(`The task ${name} on ${nodeOf(task)} is being cancelled, with everything that it started.`);
}

export async function retryTask(name: string, { node, ...flags }: TaskFlags): Promise<void> {
  using client = workspaceClient(flags);
  const task = await change(client, { name, node }, ({ spec, status }) => {
    if (status?.attempt !== spec.attempt || status.finishedAt === undefined)
      throw new Failure('usage', `the task ${name} has not ended. Cancel it first with "capstan task cancel ${name}".`);
    return { attempt: spec.attempt + 1, cancelled: false };
  });
  write(`Attempt ${task.spec.attempt} of the task ${name} on ${nodeOf(task)} was requested.`);
}

/** How often a change is decided again because the agent has reported something meanwhile. */
const mostTries = 5;

/** Changes a task as it is now: if it has changed since it was read, it is read and judged again. */
async function change(client: Client, place: Parameters<typeof findTask>[1], decide: (task: NodeTask) => object): Promise<NodeTask> {
  for (let tries = 1; ; tries++) {
    const task = await findTask(client, place);
    const { namespace, name = '', resourceVersion = '' } = task.metadata;
    const patch = { metadata: { resourceVersion }, spec: { ...decide(task) } };
    try {
      return await tasksIn(client).in(namespace).patch(name, { type: 'merge', patch });
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (tries === mostTries) throw new Failure('unexpected', `the task ${name} changes again and again. Try again.`, error);
    }
  }
}

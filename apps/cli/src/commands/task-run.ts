import { createHash, randomBytes } from 'node:crypto';
import {
  type GPUNode,
  gpuNodeKind,
  type NodeScript,
  type NodeTask,
  nodeNamespace,
  nodeScriptKind,
  nodeTaskKind,
  platformWorkspace,
  type TaskTypeName,
  taskTypes,
} from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { Failure } from '../failure.ts';
import { tellTrouble } from '../following.ts';
import { findTask, tasksIn } from '../nodes/tasks.ts';
import { watchObject } from '../units/watch.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { streamLog } from './task.ts';

export interface RunFlags extends ConnectionFlags {
  readonly name?: string;
  readonly deadline?: string;
  readonly set?: readonly string[];
  readonly follow?: boolean;
}

const explained = '"kubectl explain nodetask.spec" in the workspace root:platform explains their parameters.';
const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Creates a task. Follows its output if asked, and resolves with the exit code then: 1 if the task has not succeeded. */
export async function runTask(node: string, type: string | undefined, flags: RunFlags): Promise<number> {
  if (type === undefined || !isType(type)) {
    const found = type === undefined ? 'none' : JSON.stringify(type);
    throw new Failure('usage', `expected a type of task, one of ${Object.keys(taskTypes).join(', ')}, found ${found}. ${explained}`);
  }
  const parameters = parametersIn(flags.set ?? []);
  using client = workspaceClient(flags);
  await checkNode(client, node);
  if (typeof parameters['script'] === 'string' && parameters['sha256'] === undefined)
    parameters['sha256'] = await hashOf(client, parameters['script']);
  const name = flags.name ?? `${type.replaceAll('.', '-')}-${randomBytes(3).toString('hex')}`;
  const object = {
    apiVersion: `${nodeTaskKind.group}/${nodeTaskKind.version}`,
    kind: nodeTaskKind.kind,
    metadata: { name, namespace: nodeNamespace(node) },
    spec: { type, ...(flags.deadline !== undefined && { deadline: flags.deadline }), [taskTypes[type]]: parameters },
  };
  const task = await tasksIn(client).create(object as unknown as NodeTask);
  if (flags.follow !== true) {
    write(`The task ${name} was created on ${node}. Next: capstan task logs ${name} --follow`);
    return 0;
  }
  await untilAccepted(client, { name, node });
  await streamLog(client, task.metadata, { follow: true });
  const { status } = await findTask(client, { name, node });
  write(`${status?.phase ?? 'Pending'}${status?.error === undefined ? '' : `: ${status.error.code}: ${status.error.message}`}`);
  return status?.phase === 'Succeeded' ? 0 : 1;
}

const isType = (type: string): type is TaskTypeName => Object.hasOwn(taskTypes, type);

/** `a=1 b=text c=["x"]`: values are JSON, or else text. */
export function parametersIn(settings: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    settings.map((setting) => {
      const mark = setting.indexOf('=');
      if (mark < 1) throw new Failure('usage', `--set: expected key=value, found ${JSON.stringify(setting)}.`);
      return [setting.slice(0, mark), parsed(setting.slice(mark + 1))];
    }),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

async function checkNode(client: Client, node: string): Promise<void> {
  try {
    await client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind).get(node);
  } catch (error) {
    if (isNotFound(error)) throw new Failure('usage', `there is no node ${node}; "capstan node list" lists all.`, error);
    throw error;
  }
}

/** The task runs the script as it is now, or not at all. */
async function hashOf(client: Client, script: string): Promise<string> {
  try {
    const { spec } = await client.cluster(platformWorkspace).resource<NodeScript>(nodeScriptKind).get(script);
    return createHash('sha256').update(spec.content).digest('hex');
  } catch (error) {
    if (isNotFound(error))
      throw new Failure('usage', `there is no NodeScript ${script}. Create it in ${platformWorkspace} with kubectl.`, error);
    throw error;
  }
}

/** The node knows the task, so that it can send its output. */
async function untilAccepted(client: Client, { name, node }: { readonly name: string; readonly node: string }): Promise<void> {
  const tasks = tasksIn(client).in(nodeNamespace(node));
  const isAccepted = ({ status }: NodeTask): boolean => status?.startedAt !== undefined || status?.finishedAt !== undefined;
  let isTold = false;
  for await (const task of watchObject(tasks, { name, onTrouble: tellTrouble })) {
    if (isAccepted(task)) return;
    if (!isTold) process.stderr.write(`Waiting for the node ${node}.\n`);
    isTold = true;
  }
  throw new Failure('unexpected', `the task ${name} was deleted.`);
}

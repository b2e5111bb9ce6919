import { type NodeTask, nodeNamespace, nodeOfNamespace, nodeTaskKind, platformWorkspace } from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { Failure } from '../failure.ts';

export interface TaskQuery {
  readonly name: string;
  /** The node of the task; needed if several nodes have tasks of that name. */
  readonly node?: string | undefined;
  /** Follows the message if there is no such task. */
  readonly hint?: string;
}

export const tasksIn = (client: Client): Resource<NodeTask> => client.cluster(platformWorkspace).resource<NodeTask>(nodeTaskKind);

export const nodeOf = ({ metadata: { namespace = '' } }: NodeTask): string => nodeOfNamespace(namespace) ?? namespace;

/** Finds a task by its name, on one node or on all. */
export async function findTask(client: Client, { name, node, hint = '' }: TaskQuery): Promise<NodeTask> {
  const tasks = tasksIn(client);
  const found =
    node === undefined ? await named(tasks, name) : [await one(tasks.in(nodeNamespace(node)), name)].filter((task) => task !== undefined);
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new Failure(
      'usage',
      `there is no task ${name}${node === undefined ? '' : ` on the node ${node}`}; "capstan task list" lists all.${hint}`,
    );
  throw new Failure('usage', `the nodes ${found.map(nodeOf).join(', ')} have a task ${name}. Choose one with --node.`);
}

async function named(tasks: Resource<NodeTask>, name: string): Promise<NodeTask[]> {
  return (await tasks.list({ fieldSelector: `metadata.name=${name}` })).items;
}

async function one(tasks: Resource<NodeTask>, name: string): Promise<NodeTask | undefined> {
  try {
    return await tasks.get(name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

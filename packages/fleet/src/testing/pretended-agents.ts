import { type NodeTask, type NodeTaskStatus, nodeNamespace, nodeOfNamespace, nodeTaskKind } from '@capstan/api';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';

const namespaceKind = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

/** How a pretended agent ends a task; undefined if it is silent. */
export type Answer = (node: string, task: NodeTask) => Pick<NodeTaskStatus, 'phase' | 'error' | 'report'> | undefined;

/** The namespace of a node that no machine has enrolled for. */
export async function makeNodeNamespace(platform: Client, node: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: nodeNamespace(node) } };
  await ignoring(platform.resource(namespaceKind).create(object), isAlreadyExists);
}

/** Agents of all nodes, for tests without machines: they end every task at once. */
export function pretendAgents(
  platform: Client,
  answer: Answer = () => ({ phase: 'Succeeded' }),
): AsyncDisposable & { look(): Promise<void> } {
  const stop = new AbortController();
  const tasks = platform.resource<NodeTask>(nodeTaskKind);
  const end = async (task: NodeTask): Promise<void> => {
    const { namespace = '' } = task.metadata;
    const { attempt } = task.spec;
    if (task.status?.finishedAt !== undefined && task.status.attempt === attempt) return;
    const ended = answer(nodeOfNamespace(namespace) ?? '', task);
    if (ended === undefined) return;
    const status = { ...ended, attempt, finishedAt: new Date().toISOString() };
    await ignoring(tasks.in(namespace).updateStatus({ ...task, status }), isConflict, isNotFound);
  };
  const look = async (): Promise<void> => {
    for (const task of (await tasks.list()).items) await end(task);
  };
  const run = async (): Promise<void> => {
    const { items, metadata } = await tasks.list();
    for (const task of items) await end(task);
    await tasks.follow({ resourceVersion: metadata.resourceVersion, signal: stop.signal }, ({ type, object }) => {
      if (type === 'ADDED' || type === 'MODIFIED') end(object).catch(() => {});
    });
  };
  const running = run().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    look,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

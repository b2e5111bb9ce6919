import { type NodeTask, nodeNamespace, nodeTaskKind, requestedByAnnotation } from '@capstan/api';
import { type Client, Informer } from '@capstan/client';
import { Trouble } from '@capstan/machinery';
import { agentWatch } from '../control-plane/watches.ts';
import type { TaskEngine } from './engine.ts';
import type { TaskRequest } from './task-type.ts';

export interface TaskWatchOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly engine: Pick<TaskEngine, 'accept' | 'remove' | 'uids'>;
  readonly log: (line: string) => void;
}

/** Hands the NodeTasks of this node to the engine, until the signal aborts. */
export async function watchTasks({ client, node, engine, log }: TaskWatchOptions, signal: AbortSignal): Promise<void> {
  const trouble = new Trouble({
    log,
    begins: (why) => `the tasks of this node cannot be read: ${why}`,
    lasts: (why, { duration }) => `the tasks of this node could not be read for ${duration}: ${why}`,
    ends: ({ duration }) => `the tasks of this node can be read again after ${duration}`,
    now: () => performance.now(),
  });
  const informer = new Informer<NodeTask>({
    resource: client.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node)),
    ...agentWatch,
    onError: (error) => trouble.report(error instanceof Error ? error.message : String(error), 'watch'),
    onRecovered: () => trouble.clear('watch'),
  });
  const failed = (error: unknown): void => {
    if (!signal.aborted) log(`a task could not be accepted: ${error instanceof Error ? error.message : String(error)}`);
  };
  using _followed = informer.onChange(({ type, object }) => {
    const { uid = '' } = object.metadata;
    if (type === 'deleted') engine.remove(uid).catch(failed);
    else if (isOpen(object)) engine.accept(requestOf(object), { wasStarted: wasStarted(object) }).catch(failed);
  });
  const running = informer.start(signal);
  try {
    await informer.synced(signal);
    // Tasks that were deleted while the agent was not running.
    const present = new Set(informer.list().map(({ metadata }) => metadata.uid));
    for (const uid of engine.uids()) if (!present.has(uid)) engine.remove(uid).catch(failed);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await running;
}

/** Whether the present attempt has not ended, as far as the control plane knows. */
function isOpen({ spec, status }: NodeTask): boolean {
  return status?.attempt !== spec.attempt || status.finishedAt === undefined;
}

function wasStarted({ spec, status }: NodeTask): boolean {
  return status?.attempt === spec.attempt && status.startedAt !== undefined;
}

export function requestOf({ metadata, spec }: NodeTask): TaskRequest {
  const requestedBy = metadata.annotations?.[requestedByAnnotation];
  return {
    uid: metadata.uid ?? '',
    name: metadata.name ?? '',
    attempt: spec.attempt,
    ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
    spec,
    ...(requestedBy !== undefined && { requestedBy }),
  };
}

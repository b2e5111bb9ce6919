import { type ClusterId, fleetGroup, type NodeTask, nodeOfNamespace, nodeTaskKind } from '@capstan/api';
import { status } from '@capstan/machinery';
import { type NodeSubresource, serveNodeSubresource } from '../connect/node-subresource.ts';
import type { OwnRequest, OwnSubresource } from '../connect/own-subresource.ts';
import { relayBody } from '../connect/relay.ts';
import { isAway } from '../connect/stored-logs.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import type { OtherStores } from './stored-logs.ts';
import { type TaskQuery, type TaskReader, taskPathOf } from './task-reader.ts';

export interface TaskLogOptions {
  /** The workspace of the fleet; undefined until it exists. */
  readonly platform: () => ClusterId | undefined;
  readonly tunnels: Tunnels;
  readonly reader: TaskReader;
  /** The stores of other API servers. */
  readonly others: OtherStores | undefined;
}

/** `nodetasks/log`: the output of a task, from its node or, if that is away or has forgotten it, from what the node has sent before. Also of tasks that are deleted, as those of a node that was removed. */
export function taskLog({ platform, tunnels, reader, others }: TaskLogOptions): OwnSubresource {
  const entry: NodeSubresource = {
    group: fleetGroup,
    resource: nodeTaskKind.resource,
    subresource: 'log',
    methods: ['GET'],
    target: (object, cluster) => {
      const { metadata, spec, status: state } = object as NodeTask;
      const node = nodeOfNamespace(metadata.namespace ?? '');
      // Elsewhere tenants may define a kind with this name.
      if (cluster !== platform() || node === undefined) return undefined;
      return { node, path: `/tasks/${metadata.uid}/${state?.attempt ?? spec.attempt}/log` };
    },
  };
  const send = async (request: Omit<OwnRequest, 'object'>, query: TaskQuery): Promise<boolean> => {
    const { stream } = request;
    const stored = (await reader.open(query)) ?? (await others?.log(taskPathOf(query), stream.signal));
    if (stored === undefined) return false;
    await relayBody(stream, { code: 200, type: 'text/plain', body: stored });
    return true;
  };
  return {
    ...entry,
    async serve(request) {
      const { stream, context } = request;
      try {
        await serveNodeSubresource(tunnels, entry, request);
      } catch (error) {
        const task = request.object as NodeTask;
        const target = entry.target(task, context.cluster);
        if (target === undefined || stream.exchange.answered || !isAway(error)) throw error;
        const asked = options(context.info.query);
        const attempt = asked.attempt ?? task.status?.attempt ?? task.spec.attempt;
        const bytes = attempt === task.status?.attempt ? task.status.output?.bytes : undefined;
        const query = { node: target.node, task: context.info.name, uid: task.metadata.uid, ...asked, attempt, bytes };
        if (!(await send(request, query))) throw error;
      }
    },
    async serveMissing(request) {
      const { context, resource, stream } = request;
      const node = nodeOfNamespace(context.info.namespace);
      const missing = status.notFound(resource, context.info.name);
      if (context.cluster !== platform() || node === undefined) throw missing;
      if (stream.exchange.method !== 'GET') throw status.methodNotAllowed();
      if (!(await send(request, { node, task: context.info.name, ...options(context.info.query) }))) throw missing;
    },
  };
}

/** The same as nodes take. */
function options(query: Pick<URLSearchParams, 'get'>): Pick<TaskQuery, 'tailLines' | 'tailBytes' | 'attempt' | 'isWhole'> {
  const number = (name: string): number | undefined => {
    const text = query.get(name);
    if (text === null) return undefined;
    if (!/^\d{1,9}$/.test(text)) throw status.badRequest('expected whole numbers for tailLines, tailBytes and attempt');
    return Number(text);
  };
  return {
    tailLines: number('tailLines'),
    tailBytes: number('tailBytes'),
    attempt: number('attempt'),
    isWhole: query.get('whole') === 'true',
  };
}

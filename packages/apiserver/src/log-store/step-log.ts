import { type AppOperation, appOperationKind, appsGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { AppObjects } from '../app-access/members.ts';
import type { OwnRequest, OwnSubresource } from '../connect/own-subresource.ts';
import { relayBody } from '../connect/relay.ts';
import { isAway } from '../connect/stored-logs.ts';
import { askNodeForStream } from '../connect/tunnel-request.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import type { OtherStores } from './stored-logs.ts';
import { type TaskReader, taskPathOf } from './task-reader.ts';

export interface StepLogOptions {
  readonly objects: Pick<AppObjects, 'isOfPlatform' | 'task'>;
  readonly tunnels: Tunnels;
  readonly reader: Pick<TaskReader, 'open'>;
  /** The stores of other API servers. */
  readonly others: OtherStores | undefined;
}

interface StepOutput {
  readonly node: string;
  readonly task: string;
  readonly tailLines: number | undefined;
}

/**
 * `appoperations/log?step=…`: the output of a step for the tenant, as far as its node has sent it, also when the member and its node are gone. The status, which only the platform writes, names the
 * node and the task; it names no node for a step whose output is a secret. With `follow=true`, the node itself sends the output until the step ends, if it is connected.
 */
export function stepLog({ objects, tunnels, reader, others }: StepLogOptions): OwnSubresource {
  /** False if the node is not connected, or has forgotten the task. */
  const follow = async ({ stream, context }: OwnRequest, wanted: StepOutput): Promise<boolean> => {
    const task = objects.task(wanted);
    const connection = task && (await tunnels.to(wanted.node));
    if (task === undefined || connection === undefined) return false;
    const query = new URLSearchParams({ follow: 'true', ...(wanted.tailLines !== undefined && { tailLines: String(wanted.tailLines) }) });
    const path = `/node/tasks/${task.metadata.uid}/${task.status?.attempt ?? task.spec.attempt}/log?${query.toString()}`;
    try {
      const body = await askNodeForStream({ node: wanted.node, connection }, context, { method: 'GET', path, signal: stream.signal });
      await relayBody(stream, { code: 200, type: 'text/plain', body });
      return true;
    } catch (error) {
      if (stream.exchange.answered || !isAway(error)) throw error;
      return false;
    }
  };
  return {
    group: appsGroup,
    resource: appOperationKind.resource,
    subresource: 'log',
    async serve(request) {
      const { stream, context, object, resource } = request;
      const { query, name } = context.info;
      if (!objects.isOfPlatform(resource)) throw status.notFound(resource, name);
      if (stream.exchange.method !== 'GET') throw status.methodNotAllowed();
      const id = query.get('step');
      const step = (object as AppOperation).status?.steps?.find((one) => one.id === id);
      if (step === undefined) throw status.badRequest('step: expected the id of a step of the operation');
      const tail = query.get('tailLines');
      if (tail !== null && !/^\d{1,9}$/.test(tail)) throw status.badRequest('tailLines: expected a whole number');
      const { node, task } = step;
      if (node === undefined || task === undefined) throw status.notFound({ group: appsGroup, resource: 'outputs' }, step.id);
      const wanted = { node, task, tailLines: tail === null ? undefined : Number(tail) };
      if (query.get('follow') === 'true' && (await follow(request, wanted))) return;
      const body = (await reader.open(wanted)) ?? (await others?.log(taskPathOf(wanted), stream.signal));
      if (body === undefined) throw status.notFound({ group: appsGroup, resource: 'outputs' }, step.id);
      await relayBody(stream, { code: 200, type: 'text/plain', body });
    },
  };
}

import { type AppOperation, appOperationKind, appsGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { AppObjects } from '../app-access/members.ts';
import type { OwnSubresource } from '../connect/own-subresource.ts';
import { relayBody } from '../connect/relay.ts';
import type { OtherStores } from './stored-logs.ts';
import { type TaskReader, taskPathOf } from './task-reader.ts';

export interface StepLogOptions {
  readonly objects: Pick<AppObjects, 'isOfPlatform'>;
  readonly reader: Pick<TaskReader, 'open'>;
  /** The stores of other API servers. */
  readonly others: OtherStores | undefined;
}

/**
 * `appoperations/log?step=…`: the output of a step for the tenant, as far as its node has sent it, also when the member and its node are gone. The status, which only the platform writes, names the
 * node and the task; it names no node for a step whose output is a secret.
 */
export function stepLog({ objects, reader, others }: StepLogOptions): OwnSubresource {
  return {
    group: appsGroup,
    resource: appOperationKind.resource,
    subresource: 'log',
    async serve({ stream, context, object, resource }) {
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
      const body = (await reader.open(wanted)) ?? (await others?.log(taskPathOf(wanted), stream.signal));
      if (body === undefined) throw status.notFound({ group: appsGroup, resource: 'outputs' }, step.id);
      await relayBody(stream, { code: 200, type: 'text/plain', body });
    },
  };
}

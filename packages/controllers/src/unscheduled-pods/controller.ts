import { isAlreadyExists } from '@capstan/client';
import { controller, done, ignoring, type Runnable } from '@capstan/controller';
import type { ControllerSettings } from '../registration.ts';
import { explainPending, type Pod } from './reconcile.ts';

const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true, kind: 'Pod' };
const nodes = { group: '', version: 'v1', resource: 'nodes', namespaced: false };
const events = { group: '', version: 'v1', resource: 'events', namespaced: true };

/** Only the metadata of pods without a node is kept, and only that of nodes. */
const unbound = { fieldSelector: 'spec.nodeName=', metadataOnly: true };
const named = { metadataOnly: true };

interface Settings extends Pick<ControllerSettings, 'concurrency'> {
  readonly patience?: number;
}

/** Watches pods without a node. */
export function unscheduledPods({ concurrency = 2, patience = 2_000 }: Settings): Runnable {
  return controller('unscheduled-pods')
    .for(pods, { ...unbound, predicate: ({ type }) => type === 'added' })
    .reads((informers) => informers.informer(nodes, named))
    .reconcile(
      async ({ object, client, signal, copies }) => {
        const hasNodes = (): boolean => copies.size > 0;
        if (object === undefined || hasNodes()) return done;
        const { namespace = '', name = '' } = object.metadata;
        return explainPending(await client.resource<Pod>(pods).in(namespace).get(name, { signal }), {
          hasNodes,
          patience,
          record: async (event) => {
            await ignoring(client.resource(events).in(namespace).create(event, { signal }), isAlreadyExists);
          },
          now: () => new Date(),
        });
      },
      { concurrency },
    );
}

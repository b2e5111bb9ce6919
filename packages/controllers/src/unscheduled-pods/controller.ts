import { isAlreadyExists, isNotFound } from '@capstan/client';
import { controller, done, type Runnable, whenOutdated } from '@capstan/controller';
import { informed } from '../informed.ts';
import type { ControllerSettings } from '../registration.ts';
import { explainPending, type Pod } from './reconcile.ts';

const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true, kind: 'Pod' };
const nodes = { group: '', version: 'v1', resource: 'nodes', namespaced: false };
const events = { group: '', version: 'v1', resource: 'events', namespaced: true };

/** Only the names of pods without a node are kept, and only those of nodes. */
const unbound = { fieldSelector: 'spec.nodeName=', metadataOnly: true };
const named = { metadataOnly: true };

interface Settings extends Pick<ControllerSettings, 'concurrency'> {
  readonly patience?: number;
}

/** Watches pods that have no node. */
export function unscheduledPods({ concurrency = 2, patience = 2_000 }: Settings): Runnable {
  return informed((informers) =>
    controller('unscheduled-pods')
      .for(pods, { ...unbound, predicate: ({ type }) => type === 'added' })
      .watches(nodes, () => [], named)
      .reconcile(
        async ({ object, client, signal }) => {
          if (object === undefined) return done;
          const { namespace = '', name = '' } = object.metadata;
          const hasNodes = (): boolean => informers().informer(nodes, named).size > 0;
          if (hasNodes()) return done;
          try {
            return await explainPending(await client.resource<Pod>(pods).in(namespace).get(name, { signal }), {
              hasNodes,
              patience,
              record: async (event) => {
                await client.resource(events).in(namespace).create(event, { signal }).catch(unlessThere);
              },
              now: () => new Date(),
            });
          } catch (error) {
            return isNotFound(error) ? done : whenOutdated(error);
          }
        },
        { concurrency },
      ),
  );
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

import { type GPUNode, gpuNodeKind, type NodeUnit, nodeNamespace, nodeUnitKind } from '@capstan/api';
import { type Informer, isNotFound, objectKey } from '@capstan/client';
import { Channel, type Controller, controller, done, ignoring, requeueAfter } from '@capstan/controller';
import type { Owners } from '../reconciling/owners.ts';
import { nodeConcernsUnits, nodeUnitsOf, unitsOn } from './copies.ts';
import { nodeOf, nodeStateOf } from './nodes.ts';
import { isFinal } from './scene.ts';

/** In milliseconds: how long to wait if nobody can say whether a unit exists. */
const askAgain = 30_000;

/** Sent for NodeUnits whose unit has disappeared. */
export type Abandoned = Channel<NodeUnit>;
export const abandonedUnits = (): Abandoned => new Channel<NodeUnit>();

/**
 * Collects NodeUnits whose unit is gone: those that stayed on a silent node when their unit was deleted, and those of units that were deleted by force. They are
 * stopped, and deleted as soon as nothing of them can run.
 */
export function orphans(owners: Owners, abandoned: Abandoned): Controller<NodeUnit, Copies> {
  return controller('unit-orphans')
    .for<NodeUnit>(nodeUnitKind)
    .reads((informers): Copies => ({ nodes: informers.informer<GPUNode>(gpuNodeKind), nodeUnits: nodeUnitsOf(informers) }))
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }, { nodeUnits }) => unitsOn(nodeUnits, nodeNamespace(name)).map(objectKey), {
      predicate: nodeConcernsUnits,
    })
    .receives(abandoned, (nodeUnit) => [objectKey(nodeUnit)])
    .reconcile(async ({ object: nodeUnit, copies, client, wrote }) => {
      if (nodeUnit === undefined || nodeUnit.spec.warm || nodeUnit.metadata.deletionTimestamp !== undefined) return done;
      const owner = await owners.find(nodeUnit.spec.owner);
      if (owner === 'unknown') return requeueAfter(askAgain);
      if (owner === 'exists') return done;
      const resource = client.resource<NodeUnit>(nodeUnitKind).in(nodeUnit.metadata.namespace);
      const { name = '', uid = '' } = nodeUnit.metadata;
      if (isFinal(nodeUnit) || nodeStateOf(copies.nodes.get({ name: nodeOf(nodeUnit) })).kind === 'lost')
        await ignoring(resource.delete(name, { preconditions: { uid } }), isNotFound);
      else if (!nodeUnit.spec.stopped)
        wrote(await resource.patch(name, { type: 'merge', patch: { spec: { stopped: true, stopReason: 'Stopped' } } }));
      return done;
    });
}

interface Copies {
  readonly nodes: Informer<GPUNode>;
  readonly nodeUnits: Informer<NodeUnit>;
}

import {
  cleaningLabel,
  finalNodeUnitPhases,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeBookingSpec,
  type NodeTask,
  type NodeUnit,
  nodeBookingKind,
  nodeNamespace,
  nodeOfNamespace,
  nodeTaskKind,
  nodeUnitKind,
} from '@capstan/api';
import { type Client, type Informer, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { type Controller, controller, done, ignoring, isDeleting, type Predicate, requeueAfter } from '@capstan/controller';
import type { BackoffLimits, JsonObject } from '@capstan/machinery';
import { reportCondition } from '../nodes/condition.ts';
import { cleanCondition } from './condition.ts';
import { leftovers } from './leftovers.ts';
import { givenUp, nextEntries, usedBy, withoutGivenUp } from './next-entries.ts';
import { name as controllerName } from './registration.ts';
import { Retries } from './retries.ts';
import { taskFor, taskName } from './task.ts';

export interface CleaningOptions {
  readonly now?: () => number;
  /** How long after a failure a cleaning is tried again, in milliseconds. */
  readonly cleaningRetry?: BackoffLimits;
}

interface Copies {
  readonly nodes: Informer<GPUNode>;
  readonly tasks: Informer<NodeTask>;
  readonly nodeUnits: Informer<NodeUnit>;
}

const onlyCleaning = { labelSelector: cleaningLabel };
const byNamespace = 'namespace';

/** Cleans nodes between two owners of the same devices: with a task for each entry that its owner has given up. */
export function cleaning({ now = Date.now, cleaningRetry }: CleaningOptions = {}): Controller<NodeBooking, Copies> {
  const retries = new Retries({ backoff: cleaningRetry, now });
  return controller(controllerName)
    .for<NodeBooking>(nodeBookingKind)
    .reads((informers): Copies => {
      const tasks = informers.informer<NodeTask>(nodeTaskKind, onlyCleaning);
      tasks.addIndex(byNamespace, ({ metadata }) => [metadata.namespace ?? '']);
      const nodeUnits = informers.informer<NodeUnit>(nodeUnitKind);
      nodeUnits.addIndex(byNamespace, ({ metadata }) => [metadata.namespace ?? '']);
      return { nodes: informers.informer<GPUNode>(gpuNodeKind), tasks, nodeUnits };
    })
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }) => [{ name }])
    .watches<NodeTask>(nodeTaskKind, ({ metadata }) => keysOf(nodeOfNamespace(metadata.namespace ?? '')), onlyCleaning)
    .watches<NodeUnit>(nodeUnitKind, ({ metadata }) => keysOf(nodeOfNamespace(metadata.namespace ?? '')), { predicate: hasEnded })
    .reconcile(async ({ key: { name }, object: booking, copies, client, wrote }) => {
      const node = copies.nodes.get({ name });
      if (node === undefined) {
        retries.look(name, []);
        if (booking !== undefined) await freeOn(client, booking);
        return done;
      }
      // Its agent is not accepted any more; the controller of nodes frees its entries.
      if (isDeleting(node)) return done;
      const tasks = copies.tasks.byIndex(byNamespace, nodeNamespace(name));
      const entries = booking?.spec.entries ?? [];
      const used = usedBy(copies.nodeUnits.byIndex(byNamespace, nodeNamespace(name)));
      const before = givenUp({ entries }, tasks, used);
      const created: NodeTask[] = [];
      for (const { entry, outcome } of before) {
        if (outcome.kind !== 'missing') continue;
        const task = taskFor(name, entry);
        const made = await ignoring(client.resource<NodeTask>(nodeTaskKind).create(task), isAlreadyExists);
        if (made !== undefined) wrote(made, nodeTaskKind);
        created.push(made ?? task);
      }
      const cleaned = givenUp({ entries }, [...tasks, ...created], used);
      if (booking !== undefined) {
        const next = nextEntries(booking.spec, cleaned);
        if (next !== booking.spec) wrote(await swap(client, booking, next));
      }
      const condition = cleanCondition(node, cleaned);
      if (condition !== undefined) wrote(await reportCondition(client, node, { type: 'Clean', ...condition, now }), gpuNodeKind);
      for (const { metadata } of leftovers(tasks, entries))
        await ignoring(
          client
            .resource<NodeTask>(nodeTaskKind)
            .in(metadata.namespace)
            .delete(metadata.name ?? ''),
          isNotFound,
        );
      const failed = new Set(cleaned.filter(({ outcome }) => outcome.kind === 'failed').map(({ entry }) => taskName(entry)));
      const { due, wait } = retries.look(
        name,
        tasks.filter(({ metadata }) => failed.has(metadata.name ?? '')),
      );
      for (const task of due) {
        const again = await tryAgain(client, task);
        if (again !== undefined) wrote(again, nodeTaskKind);
      }
      return wait === undefined ? done : requeueAfter(wait);
    });
}

/** Undefined if somebody else has changed the task meanwhile: then it is looked at again. */
function tryAgain(client: Client, { metadata, spec }: NodeTask): Promise<NodeTask | undefined> {
  const { name = '', namespace = '', resourceVersion = '' } = metadata;
  const patch = { metadata: { resourceVersion }, spec: { attempt: spec.attempt + 1 } };
  const tasks = client.resource<NodeTask>(nodeTaskKind).in(namespace);
  return ignoring(tasks.patch(name, { type: 'merge', patch }), isConflict, isNotFound);
}

/** Agents report often; a booking is concerned when something has ended. */
const hasEnded: Predicate<NodeUnit> = ({ type, object }) => type === 'deleted' || finalNodeUnitPhases.has(object.status?.phase ?? '');

function keysOf(node: string | undefined): readonly { readonly name: string }[] {
  return node === undefined ? [] : [{ name: node }];
}

/** A node that was removed by force has nobody left who could clean it, and its devices are in no index. */
async function freeOn(client: Client, booking: NodeBooking): Promise<void> {
  const next = withoutGivenUp(booking.spec);
  if (next.entries.length === booking.spec.entries.length) return;
  // The copy may be younger than the node.
  const node = await ignoring(client.resource<GPUNode>(gpuNodeKind).get(booking.metadata.name ?? ''), isNotFound);
  if (node === undefined) await swap(client, booking, next);
}

/** Fails if the booking is not as it was read. */
function swap(client: Client, { metadata }: NodeBooking, spec: NodeBookingSpec): Promise<NodeBooking> {
  const { name = '', resourceVersion = '' } = metadata;
  const patch = { metadata: { resourceVersion }, spec } as unknown as JsonObject;
  return client.resource<NodeBooking>(nodeBookingKind).patch(name, { type: 'merge', patch });
}

import { done, type Result } from '@capstan/controller';
import type { OwnerReference } from '@capstan/machinery';
import type { OwnerGraph } from './graph.ts';
import { awaitsDependents, awaitsOrphaning, blocks, foregroundFinalizer, type Item, isLeaving, orphanFinalizer, ownersOf } from './item.ts';

/** The state of an owner. */
export type OwnerState =
  /** It exists, or is being deleted without waiting for its dependents. */
  | 'solid'
  /** It does not exist, or no longer. */
  | 'dangling'
  /** It is being deleted after its dependents. */
  | 'waiting'
  /** It cannot exist: a cluster-scoped object cannot belong to a namespaced one. */
  | 'impossible';

export type Propagation = 'Foreground' | 'Background' | 'Orphan';

/** The actions available to the steps. */
export interface GarbageActions {
  readonly stateOf: (reference: OwnerReference, item: Item) => Promise<OwnerState>;
  readonly remove: (item: Item, propagation: Propagation) => Promise<void>;
  readonly dropOwners: (item: Item, owners: ReadonlySet<string>) => Promise<void>;
  /** Makes the item block the deletion of none of its owners. */
  readonly unblock: (item: Item) => Promise<void>;
  readonly dropFinalizer: (item: Item, finalizer: string) => Promise<void>;
  /** Queues another item. */
  readonly look: (uid: string) => void;
}

interface Case {
  readonly item: Item;
  readonly dependents: readonly Item[];
  readonly owners: Record<OwnerState, OwnerReference[]>;
}

/** Returns true if there is nothing more to do. */
type Step = (given: Case, actions: GarbageActions) => Promise<boolean> | boolean;

const steps: readonly Step[] = [orphanDependents, awaitDependents, leaveAlone, judgeOwners, keepOwned, removeInTurn, collect];

/** Decides what to do with one object, from its owners and its dependents. */
export async function reconcileItem(graph: OwnerGraph, uid: string, actions: GarbageActions): Promise<Result> {
  const item = graph.get(uid);
  if (item === undefined) return done;
  const owners = { solid: [], dangling: [], waiting: [], impossible: [] };
  // Anybody who knows a uid can name it as an owner, so dependents in other workspaces do not count.
  const dependents = graph.dependentsOf(uid).filter(({ cluster }) => cluster === item.cluster);
  const given: Case = { item, dependents, owners };
  for (const step of steps) if (await step(given, actions)) break;
  return done;
}

async function orphanDependents({ item, dependents }: Case, { dropOwners, dropFinalizer }: GarbageActions): Promise<boolean> {
  if (!awaitsOrphaning(item)) return false;
  const owner = new Set([item.uid]);
  await Promise.all(dependents.map((dependent) => dropOwners(dependent, owner)));
  await dropFinalizer(item, orphanFinalizer);
  return true;
}

async function awaitDependents({ item, dependents }: Case, { look, dropFinalizer }: GarbageActions): Promise<boolean> {
  if (!awaitsDependents(item)) return false;
  const blocking = dependents.filter((dependent) => blocks(dependent, item.uid));
  if (blocking.length === 0) await dropFinalizer(item, foregroundFinalizer);
  for (const dependent of blocking) if (!awaitsDependents(dependent)) look(dependent.uid);
  return true;
}

function leaveAlone({ item }: Case): boolean {
  return isLeaving(item) || ownersOf(item).length === 0;
}

async function judgeOwners({ item, owners }: Case, { stateOf }: GarbageActions): Promise<boolean> {
  for (const reference of ownersOf(item)) owners[await stateOf(reference, item)].push(reference);
  return owners.impossible.length > 0;
}

async function keepOwned({ item, owners }: Case, { dropOwners }: GarbageActions): Promise<boolean> {
  if (owners.solid.length === 0) return false;
  // Including those that wait: this item stays, so they would wait forever.
  const lost = [...owners.dangling, ...owners.waiting];
  if (lost.length > 0) await dropOwners(item, new Set(lost.map(({ uid }) => uid)));
  return true;
}

/** An owner waits and the item has dependents of its own: they are deleted first, so that the deletion runs from the leaves to the root. */
async function removeInTurn({ item, dependents, owners }: Case, { unblock, remove }: GarbageActions): Promise<boolean> {
  if (owners.waiting.length === 0 || dependents.length === 0) return false;
  // A dependent that waits too may wait for this very item, in a cycle: the item must no longer block its owners.
  if (dependents.some(awaitsDependents)) await unblock(item);
  await remove(item, 'Foreground');
  return true;
}

async function collect({ item }: Case, { remove }: GarbageActions): Promise<boolean> {
  const finalizers = item.metadata.finalizers ?? [];
  const wished = finalizers.includes(orphanFinalizer) ? 'Orphan' : finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
  await remove(item, wished);
  return true;
}

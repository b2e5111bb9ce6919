import { SharedTexts } from '@capstan/client';
import { BoundedMap, type ObjectMeta, type OwnerReference, parseApiVersion } from '@capstan/machinery';
import type { JournalEntry } from '../journal/follow.ts';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** How many types are remembered. */
const capacity = 5_000;

/** The names of a type in paths and in references. */
export interface ItemType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The part of an object that the collector needs: its workspace, its type and some of its metadata. */
export interface Item {
  readonly uid: string;
  readonly cluster: string;
  readonly type: ItemType;
  readonly metadata: ObjectMeta;
}

/** Creates items. There is one for every object in all workspaces, so they share the strings and types that they have in common. */
export class Items {
  readonly #texts = new SharedTexts();
  readonly #types = new BoundedMap<string, ItemType>(capacity);

  of({ cluster, resource, kind, apiVersion, metadata }: JournalEntry): Item {
    const { uid } = metadata;
    this.#texts.within(metadata);
    return {
      uid,
      cluster: this.#texts.of(cluster),
      type: this.#type(resource, { kind, apiVersion }, metadata.namespace !== undefined),
      metadata,
    };
  }

  #type(resource: string, { kind, apiVersion }: { kind: string; apiVersion: string }, namespaced: boolean): ItemType {
    const key = `${apiVersion} ${kind} ${resource} ${namespaced}`;
    return this.#types.getOrCompute(key, () => ({ ...parseApiVersion(apiVersion), resource, kind, namespaced }));
  }
}

export function ownersOf({ metadata }: Item): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

export function isLeaving({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Being deleted, but only after its dependents. */
export function awaitsDependents({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foregroundFinalizer);
}

/** Being deleted, but only after its dependents no longer refer to it. */
export function awaitsOrphaning({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(orphanFinalizer);
}

/** Whether the reference in the object `by` refers to this item. An owner in another workspace does not count. */
export function isMeant(reference: OwnerReference, by: Item, { cluster, type, metadata }: Item): boolean {
  const { namespace } = by.metadata;
  const { group } = parseApiVersion(reference.apiVersion);
  return (
    cluster === by.cluster &&
    reference.kind === type.kind &&
    group === type.group &&
    reference.name === metadata.name &&
    (metadata.namespace === undefined || metadata.namespace === namespace)
  );
}

export function blocks(dependent: Item, owner: string): boolean {
  return ownersOf(dependent).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
}

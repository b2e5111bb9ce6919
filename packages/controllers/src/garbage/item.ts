import type { ObjectMeta, OwnerReference } from '@capstan/machinery';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** What an object is called in paths and in references to it. */
export interface ItemType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** What the collector knows of an object: its workspace, its type and a part of its metadata. */
export interface Item {
  readonly uid: string;
  readonly cluster: string;
  readonly type: ItemType;
  readonly metadata: ObjectMeta;
}

export function ownersOf({ metadata }: Item): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

export function isLeaving({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Leaving, but not before what it owns. */
export function awaitsDependents({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foregroundFinalizer);
}

/** Leaving, but not before what it owns is let loose. */
export function awaitsOrphaning({ metadata }: { readonly metadata: ObjectMeta }): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(orphanFinalizer);
}

/** Whether the reference, as it stands in an object, means this very item. Nothing belongs to what lies in another workspace. */
export function isMeant(reference: OwnerReference, by: Item, { cluster, type, metadata }: Item): boolean {
  const { namespace } = by.metadata;
  const group = reference.apiVersion.includes('/') ? reference.apiVersion.slice(0, reference.apiVersion.indexOf('/')) : '';
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

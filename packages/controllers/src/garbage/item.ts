import type { DiscoveredResource } from '@capstan/client';
import type { KubeObject, ObjectMeta, OwnerReference } from '@capstan/machinery';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** What the collector knows of an object: its type and a part of its metadata. */
export interface Item {
  readonly uid: string;
  readonly type: DiscoveredResource;
  readonly metadata: ObjectMeta;
}

/** Only what decides about life and death: there are many objects, and most say nothing here. */
export function slim(object: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...(finalizers !== undefined && { finalizers }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  };
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

/** Whether the reference, as it stands in an object of that namespace, means this very item. */
export function isMeant(reference: OwnerReference, namespace: string | undefined, { type, metadata }: Item): boolean {
  const group = reference.apiVersion.includes('/') ? reference.apiVersion.slice(0, reference.apiVersion.indexOf('/')) : '';
  return (
    reference.kind === type.kind &&
    group === type.group &&
    reference.name === metadata.name &&
    (metadata.namespace === undefined || metadata.namespace === namespace)
  );
}

export function blocks(dependent: Item, owner: string): boolean {
  return ownersOf(dependent).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
}

import { SharedTexts } from '@capstan/client';
import type { ObjectMeta, OwnerReference } from '@capstan/machinery';
import type { JournalEntry } from '../journal/follow.ts';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** How many types are told apart at a time. */
const capacity = 5_000;

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

/** Makes items. What many of them have in common is held once: there is one for every object in all workspaces. */
export class Items {
  readonly #texts = new SharedTexts();
  readonly #types = new Map<string, ItemType>();

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
    let type = this.#types.get(key);
    if (type === undefined) {
      const slash = apiVersion.indexOf('/');
      type = { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), resource, kind, namespaced };
      if (this.#types.size >= capacity) this.#types.clear();
      this.#types.set(key, type);
    }
    return type;
  }
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

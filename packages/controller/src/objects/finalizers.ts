import type { Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Whether the object is being deleted. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Prevents the deletion of the object until `removeFinalizer`. Returns the updated object. */
export function addFinalizer<T extends KubeObject>(resource: Resource<T>, object: T, finalizer: string): Promise<T> {
  if (hasFinalizer(object, finalizer)) return Promise.resolve(object);
  return write(resource, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Allows the deletion of the object, as far as this finalizer is concerned. Returns the updated object. */
export function removeFinalizer<T extends KubeObject>(resource: Resource<T>, object: T, finalizer: string): Promise<T> {
  if (!hasFinalizer(object, finalizer)) return Promise.resolve(object);
  return write(
    resource,
    object,
    (object.metadata.finalizers ?? []).filter((one) => one !== finalizer),
  );
}

export interface FinalizeOptions {
  readonly finalizer: string;
  /** Removes what was made for the object, wherever it is. Returns false if that takes longer: then it is called again with the next reconcile. */
  readonly cleanUp: () => Promise<boolean>;
}

/**
 * Makes sure that `cleanUp` has succeeded before the object disappears: for everything that owner references cannot cover, such as objects in other
 * workspaces. Call it at the beginning of each reconcile, and go on only with an object that is `active`: it has the finalizer then, so that nothing
 * is made before it would also be removed.
 */
export async function finalize<T extends KubeObject>(
  resource: Resource<T>,
  object: T,
  { finalizer, cleanUp }: FinalizeOptions,
): Promise<{ readonly state: 'active' | 'deleting'; readonly object: T }> {
  if (!isDeleting(object)) return { state: 'active', object: await addFinalizer(resource, object, finalizer) };
  if (!hasFinalizer(object, finalizer) || !(await cleanUp())) return { state: 'deleting', object };
  return { state: 'deleting', object: await removeFinalizer(resource, object, finalizer) };
}

/** A merge patch replaces the whole list, so the version must be the one that was read. */
function write<T extends KubeObject>(resource: Resource<T>, { metadata }: T, finalizers: readonly string[]): Promise<T> {
  const { name = '', namespace, resourceVersion } = metadata;
  const patch = { metadata: { ...(resourceVersion !== undefined && { resourceVersion }), finalizers: [...finalizers] } };
  return resource.patch({ name, namespace }, { type: 'merge', patch });
}

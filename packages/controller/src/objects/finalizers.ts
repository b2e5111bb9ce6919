import type { Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Whether somebody has asked for the object to go. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Holds the object until `removeFinalizer`. The object as it is after that. */
export function addFinalizer<T extends KubeObject>(resource: Resource<T>, object: T, finalizer: string): Promise<T> {
  if (hasFinalizer(object, finalizer)) return Promise.resolve(object);
  return write(resource, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Lets the object go, as far as this finalizer is concerned. */
export function removeFinalizer<T extends KubeObject>(resource: Resource<T>, object: T, finalizer: string): Promise<T> {
  if (!hasFinalizer(object, finalizer)) return Promise.resolve(object);
  return write(
    resource,
    object,
    (object.metadata.finalizers ?? []).filter((one) => one !== finalizer),
  );
}

/** The list is replaced as a whole, so it must be the one that was read. */
function write<T extends KubeObject>(resource: Resource<T>, { metadata }: T, finalizers: readonly string[]): Promise<T> {
  const { name = '', namespace, resourceVersion } = metadata;
  const patch = { metadata: { ...(resourceVersion !== undefined && { resourceVersion }), finalizers: [...finalizers] } };
  return resource.patch({ name, namespace }, { type: 'merge', patch });
}

import { requestedByAnnotation } from '@capstan/api';
import { clusterOf, formatKey, type ObjectKey, objectKey, parseKey } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

/** The object of a tenant for which an object in another workspace was made. */
export const originAnnotation = 'capstan.dev/origin';

/**
 * The object, marked as made for `origin` in another workspace. Owner references do not work across workspaces: nothing deletes the object with its
 * origin, so the origin needs a finalizer (`finalize`) whose clean-up does.
 */
export function withOrigin<T extends KubeObject>(object: T, origin: KubeObject): T {
  if (clusterOf(origin) === undefined)
    throw new TypeError(
      `expected an origin from an endpoint over many workspaces, found ${origin.kind} "${origin.metadata.name}" without one`,
    );
  const annotations = { ...object.metadata.annotations, [originAnnotation]: formatKey(objectKey(origin)) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** The key of the object for which this one was made. Pass it to `.watches`, so that the origin is reconciled when this object changes. */
export function originOf({ metadata }: KubeObject): ObjectKey | undefined {
  const text = metadata.annotations?.[originAnnotation];
  return text === undefined ? undefined : parseKey(text);
}

/** `originOf` as a list, for `.watches(type, originsOf, { client })`. */
export function originsOf(object: KubeObject): readonly ObjectKey[] {
  const origin = originOf(object);
  return origin === undefined ? [] : [origin];
}

/**
 * The object, marked as wanted by the user who asked for `origin`, in any workspace. The server takes the name from the platform's own accounts only; without it, the object
 * names the account of the controller.
 */
export function withRequester<T extends KubeObject>(object: T, origin: KubeObject): T {
  const user = origin.metadata.annotations?.[requestedByAnnotation];
  if (user === undefined) return object;
  const annotations = { ...object.metadata.annotations, [requestedByAnnotation]: user };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

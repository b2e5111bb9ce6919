import type { Client } from '@capstan/client';
import { done, hasFinalizer, isDeleting, type KindType, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** In milliseconds. The end of a use is not always visible, so an object that is in use is checked again. */
const checkAgain = 30_000;

export interface ReleaseActions<T extends KubeObject> {
  readonly isUsed: (object: T) => boolean | Promise<boolean>;
  readonly update: (object: T) => Promise<unknown>;
}

/** Removes the finalizer from an object that is being deleted and not in use. */
export async function releaseUnused<T extends KubeObject>(
  object: T | undefined,
  finalizer: string,
  { isUsed, update }: ReleaseActions<T>,
): Promise<Result> {
  if (object === undefined || !isDeleting(object) || !hasFinalizer(object, finalizer)) return done;
  if (await isUsed(object)) return requeueAfter(checkAgain);
  const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  await update({ ...object, metadata: { ...object.metadata, finalizers } });
  return done;
}

/** An update of exactly this version: somebody may have started to use the object meanwhile. */
export function updateVersion<T extends KubeObject>(client: Client, type: KindType, signal: AbortSignal): ReleaseActions<T>['update'] {
  return (object) => client.resource<T>(type).in(object.metadata.namespace).update(object, { signal });
}

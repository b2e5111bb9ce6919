import { type DeleteOptions, formatTime, type KubeObject, type ObjectMeta, status } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { CacheEntry, storedText } from '../cache/entry.ts';
import type { RequestContext } from './context.ts';
import { areSameFinalizers } from './finalizers.ts';
import { type Backend, cachedEntry, entryAfter, placeOf, storedEntry, type Target, textForStore, writing } from './objects.ts';
import { objectOf, type Resource, readable } from './resource.ts';

const maxTries = 10;

export interface DeleteRequest extends Target {
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
  /** Admission has already approved the action that leads to this deletion. */
  readonly isAdmitted?: boolean;
}

export type Deleted =
  /** The object is deleted. */
  | { readonly gone: true; readonly entry: CacheEntry }
  /** The object is marked, and waits for its finalizers or grace period. */
  | { readonly gone: false; readonly entry: CacheEntry };

export async function deleteObject(backend: Backend, context: RequestContext, request: DeleteRequest): Promise<Deleted> {
  let current = cachedEntry(backend, context, request) ?? (await storedEntry(backend, context, request));
  for (let attempt = 1; ; attempt++) {
    if (current === undefined) throw status.notFound(request.resource, request.name);
    try {
      return await tryDelete(backend, context, { request, current });
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'conflict') throw error;
      if (attempt === maxTries) throw status.conflict(request.resource, request.name, status.staleObject);
      current = await storedEntry(backend, context, request);
    }
  }
}

async function tryDelete(
  backend: Backend,
  context: RequestContext,
  { request, current }: { request: DeleteRequest; current: CacheEntry },
): Promise<Deleted> {
  const { resource, options, dryRun } = request;
  const converting = readable(resource, [current]);
  if (converting !== undefined) await converting;
  const old = objectOf(resource, current);
  checkPreconditions(resource, old, options);
  if (request.isAdmitted !== true) await admit(backend, context, { request, old });
  const object = objectOf(resource, current);
  const marksItself = object.metadata.deletionTimestamp === undefined && resource.strategy.beforeDeletion !== undefined;
  if (marksItself) resource.strategy.beforeDeletion!(object, context);
  const finalizers = marksItself ? (object.metadata.finalizers ?? []) : finalizersAfter(resource, object, options);
  const grace = resource.strategy.gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const waits = finalizers.length > 0 || grace > 0 || hasOwnFinalizers(resource, object);
  if (!waits) {
    if (dryRun) return { gone: true, entry: current };
    return { gone: true, entry: await remove(backend, context, { target: request, current, object }) };
  }
  if (!mark(resource, object, { finalizers, grace, now: context.now() })) return { gone: false, entry: current };
  if (dryRun) return { gone: false, entry: new CacheEntry(current.key, JSON.stringify(object), current.revision) };
  const stored = textForStore(resource, object);
  const text = typeof stored === 'string' ? stored : await stored;
  const revision = await writing(request, () => backend.store.update(placeOf(context, request).stored, text, current.revision));
  return { gone: false, entry: entryAfter(backend, resource, { key: current.key, text, revision }) };
}

async function admit(
  { admission }: Backend,
  context: RequestContext,
  { request, old }: { request: DeleteRequest; old: KubeObject },
): Promise<void> {
  const { resource, namespace, name, dryRun, options } = request;
  const asked = {
    operation: 'DELETE',
    resource,
    subresource: '',
    namespace,
    name,
    object: undefined,
    old,
    context,
    dryRun,
    options,
  } as const;
  await admission.mutate(asked);
  await admission.validate(asked);
}

/** Deletes the object from the store and returns its last state. */
export async function remove(
  backend: Backend,
  context: RequestContext,
  { target, current, object }: { target: Target; current: CacheEntry; object: KubeObject },
): Promise<CacheEntry> {
  const revision = await writing(target, () => backend.store.delete(placeOf(context, target).stored, current.revision));
  return CacheEntry.stored(current.key, storedText(object), revision);
}

/** Whether this update removes the last reason for a deletion to wait. */
export function endsDeletion(resource: Resource, object: KubeObject, old: KubeObject): boolean {
  if (old.metadata.deletionTimestamp === undefined || (object.metadata.finalizers ?? []).length > 0) return false;
  if ((object.metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return !hasOwnFinalizers(resource, object);
}

/** Namespaces also wait for spec.finalizers. */
function hasOwnFinalizers(resource: Resource, object: KubeObject): boolean {
  if (!isNamespace(resource)) return false;
  return ((object['spec'] as { finalizers?: string[] } | undefined)?.finalizers ?? []).length > 0;
}

const isNamespace = ({ group, resource }: Resource): boolean => group === '' && resource === 'namespaces';

/** The same with the messages that Kubernetes has for namespaces. */
function checkNamespaceMeant(resource: Resource, metadata: ObjectMeta, preconditions: DeleteOptions['preconditions']): void {
  for (const [field, title] of [
    ['uid', 'UID'],
    ['resourceVersion', 'ResourceVersion'],
  ] as const) {
    const [wanted, found] = [preconditions?.[field], metadata[field]];
    if (wanted === undefined || wanted === found) continue;
    const why = `Precondition failed: ${title} in precondition: ${wanted}, ${title} in object meta: ${found ?? ''}`;
    throw status.conflict(resource, metadata.name ?? '', why);
  }
}

/** Rejects a deletion that was meant for another object or version. */
export function checkPreconditions(resource: Resource, { metadata }: KubeObject, { preconditions }: DeleteOptions): void {
  const { group, kind } = resource;
  if (isNamespace(resource)) {
    checkNamespaceMeant(resource, metadata, preconditions);
    return;
  }
  const name = metadata.name ?? '';
  if (preconditions?.uid !== undefined && preconditions.uid !== metadata.uid) {
    const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw status.conflict({ group, resource: kind }, name, why);
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw status.conflict({ group, resource: kind }, name, why);
  }
}

/** The object's finalizers according to the propagation policy. */
function finalizersAfter(resource: Resource, object: KubeObject, options: DeleteOptions): string[] {
  if (resource.strategy.defaultPropagation === 'None') return object.metadata.finalizers ?? [];
  // The content of a namespace is always deleted before it, whatever the policy.
  if (hasOwnFinalizers(resource, object))
    return (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== 'orphan' || options.orphanDependents !== false);
  const kept = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion');
  const had = new Set(object.metadata.finalizers);
  const policy =
    options.propagationPolicy ?? (options.orphanDependents === undefined ? undefined : options.orphanDependents ? 'Orphan' : 'Background');
  const orphan =
    policy === undefined
      ? had.has('orphan') || (!had.has('foregroundDeletion') && resource.strategy.defaultPropagation === 'Orphan')
      : policy === 'Orphan';
  const foreground = policy === undefined ? had.has('foregroundDeletion') : policy === 'Foreground';
  return [...kept, ...(orphan ? ['orphan'] : []), ...(foreground ? ['foregroundDeletion'] : [])];
}

/** Marks the object as being deleted; returns false if it already is and nothing changes. */
function mark(
  resource: Resource,
  object: KubeObject,
  { finalizers, grace, now }: { finalizers: string[]; grace: number; now: Date },
): boolean {
  const meta = object.metadata;
  const sameFinalizers = areSameFinalizers(finalizers, meta.finalizers ?? []);
  const shorter = meta.deletionGracePeriodSeconds !== undefined && grace < meta.deletionGracePeriodSeconds;
  if (meta.deletionTimestamp !== undefined && sameFinalizers && !shorter) return false;
  const isFirst = meta.deletionTimestamp === undefined;
  if (isFirst || shorter) {
    meta.deletionTimestamp = formatTime(new Date(now.getTime() + grace * 1000));
    // Namespaces and kinds with their own marking get no grace period and keep their generation.
    if (resource.strategy.beforeDeletion === undefined && !isNamespace(resource)) {
      meta.deletionGracePeriodSeconds = grace;
      if (isFirst && meta.generation !== undefined) meta.generation += 1;
    }
  }
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  if (isNamespace(resource)) object['status'] = { ...(object['status'] as object), phase: 'Terminating' };
  return true;
}

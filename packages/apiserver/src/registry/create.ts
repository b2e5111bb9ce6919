import { clusterAnnotation, rootCluster } from '@capstan/api';
import { dropUnserved } from '@capstan/kinds';
import {
  applySchemaDefaultsInParts,
  asJson,
  type JsonObject,
  type KubeObject,
  StatusError,
  status,
  stringifyInParts,
  updateManagedInParts,
} from '@capstan/machinery';
import { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { RequestContext } from './context.ts';
import { whileThere } from './guards.ts';
import { dropLink, forgetDeletion, generateName, keepCluster, stampNew, uniteOwners } from './metadata.ts';
import {
  type Backend,
  cachedEntry,
  checkSize,
  entryAfter,
  newObjectErrors,
  type ObjectCreation,
  placeOf,
  refuse,
  type Target,
  textForStore,
  type Written,
  writing,
} from './objects.ts';
import type { Pace } from './pace.ts';
import { resetFieldsOf } from './reset-fields.ts';
import type { Resource } from './resource.ts';

/** How many generated names are tried. */
const nameTries = 8;

export interface CreateRequest {
  readonly resource: Resource;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly manager: string;
  readonly dryRun: boolean;
  /** The managed fields are already computed, as by server-side apply. */
  readonly applied?: boolean;
}

export async function create(backend: Backend, context: RequestContext, request: CreateRequest): Promise<Written> {
  const { resource, object } = request;
  const { strategy } = resource;
  const pace = context.pace();
  const isVersioned = request.applied !== true && isRevision(object.metadata.resourceVersion);
  keepCluster(object, undefined);
  const filling = pace.run(applySchemaDefaultsInParts(asJson(object), resource.type));
  if (filling instanceof Promise) await filling;
  strategy.default?.(object);
  // No manager owns changes that the server or webhooks make from here on.
  forgetDeletion(object);
  uniteOwners(object, context.warn);
  let pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  if (request.applied !== true) {
    const recording = recordManager(resource, object, { manager: request.manager, context, pace });
    if (recording instanceof Promise) await recording;
  }
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  const asked = {
    operation: 'CREATE',
    resource,
    subresource: '',
    namespace: request.namespace,
    name: object.metadata.name ?? '',
    object,
    old: undefined,
    context,
    dryRun: request.dryRun,
  } as const;
  const mutating = backend.admission.mutate(asked);
  if (mutating !== undefined) {
    await mutating;
    pace.resume();
  }
  const creation = creationOf(backend, resource);
  creation?.complete(asked);
  const generated = !object.metadata.name && object.metadata.generateName;
  if (generated) object.metadata.name = generateName(object.metadata.generateName!);
  stampNew(object, context.now(), strategy.generation === true);
  dropUnserved(resource, object, undefined);
  const told = context.warnings.length;
  if (strategy.prepareForCreate !== undefined) strategy.prepareForCreate(object, context);
  else if (resource.subresources.has('status')) delete object['status'];
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  const errors = await pace.run(newObjectErrors(resource, object, context));
  // A rejected request gets no warnings about the object.
  if (errors.length > 0) context.warnings.length = told;
  refuse(resource, object.metadata.name ?? '', errors);
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  strategy.canonicalize?.(object);
  const validating = backend.admission.validate(generated ? { ...asked, name: object.metadata.name ?? '' } : asked);
  if (validating !== undefined) await validating;
  const accompanying = creation?.accompany(asked);
  if (accompanying !== undefined) await accompanying;
  // kube-apiserver rejects this in storage, so dry runs pass.
  if (isVersioned && !request.dryRun)
    throw new StatusError({ code: 500, message: 'resourceVersion should not be set on objects to be created' });
  if (!request.dryRun) dropLink(object);
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  for (let attempt = 1; ; attempt++) {
    const target: Target = { resource, namespace: request.namespace, name: object.metadata.name! };
    try {
      return await save(backend, context, {
        target,
        object,
        dryRun: request.dryRun,
        pace,
        waited: mutating !== undefined || validating !== undefined,
      });
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error;
      if (!generated || attempt === nameTries) throw taken(backend, context, { target, isPrefixed: Boolean(object.metadata.generateName) });
      object.metadata.name = generateName(object.metadata.generateName!);
    }
  }
}

function creationOf({ creations }: Backend, { group, resource }: Resource): ObjectCreation | undefined {
  const found = creations?.get(resource);
  return found?.group === group ? found : undefined;
}

/** The error for a taken name; it says so if the object that has the name is being deleted. */
function taken(backend: Backend, context: RequestContext, { target, isPrefixed }: { target: Target; isPrefixed: boolean }): StatusError {
  const { resource, name } = target;
  const { status: told } = isPrefixed ? status.notUnique(resource, name) : status.alreadyExists(resource, name);
  const isGoing = cachedEntry(backend, context, target)?.object.metadata.deletionTimestamp !== undefined;
  return new StatusError(isGoing ? { ...told, message: `object is being deleted: ${told.message}` } : told);
}

async function save(
  backend: Backend,
  context: RequestContext,
  { target, object, dryRun, pace, waited }: { target: Target; object: KubeObject; dryRun: boolean; pace: Pace; waited: boolean },
): Promise<Written> {
  const place = placeOf(context, target);
  if (dryRun) {
    if (await backend.store.get(place.stored)) throw status.alreadyExists(target.resource, target.name);
    return { entry: await unsavedAt(pace, { key: place.cached, object }), created: true };
  }
  const stored = textForStore(target.resource, object, pace);
  const text = typeof stored === 'string' ? stored : await stored;
  const checking = pace.run(checkSize(text));
  if (checking instanceof Promise) await checking;
  const { cluster } = context;
  const hasWaited = waited || pace.hasWaited;
  const revision = await writing(target, () =>
    cluster === rootCluster && !hasWaited
      ? backend.store.create(place.stored, text)
      : whileThere(backend.cache, { ...target, cluster, waited: hasWaited }, (guards) => backend.store.create(place.stored, text, guards)),
  );
  return { entry: entryAfter(backend, target.resource, { key: place.cached, text, revision }), created: true };
}

/** The result of a dry run: the object as it would be, without a revision of its own. */
export function unsaved(key: string, object: KubeObject, revision = 0): CacheEntry {
  return new CacheEntry(key, JSON.stringify(asServed(key, object)), revision);
}

/** The same in parts if the operation is a long one. */
export async function unsavedAt(
  pace: Pace,
  { key, object, revision = 0 }: { key: string; object: KubeObject; revision?: number },
): Promise<CacheEntry> {
  if (!pace.hasWaited) return unsaved(key, object, revision);
  return new CacheEntry(key, await pace.run(stringifyInParts(asServed(key, object))), revision);
}

function asServed(key: string, object: KubeObject): JsonObject {
  const { kind, apiVersion, metadata: own, ...rest } = object;
  const cluster = clusterOfKey(key);
  const metadata = cluster === rootCluster ? own : { ...own, annotations: { ...own.annotations, [clusterAnnotation]: cluster } };
  return asJson({ kind, apiVersion, metadata, ...rest });
}

function recordManager(
  resource: Resource,
  object: KubeObject,
  { manager, context, pace }: { manager: string; context: RequestContext; pace: Pace },
): unknown {
  const parts = updateManagedInParts({
    live: undefined,
    updated: object,
    type: resource.type,
    manager,
    apiVersion: resource.groupVersion,
    subresource: '',
    now: context.now(),
    resetFields: resetFieldsOf(resource, ''),
  });
  return pace.run(parts);
}

/** Whether the text is a revision. Anything but a positive number is ignored. */
function isRevision(text: string | undefined): boolean {
  return text !== undefined && text !== '' && /^\d{1,20}$/.test(text) && Number(text) !== 0;
}

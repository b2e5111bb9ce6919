import { dropUnserved } from '@capstan/kinds';
import {
  applySchemaDefaultsInParts,
  asJson,
  fieldError,
  type KubeObject,
  type Parts,
  parseApiVersion,
  StatusError,
  status,
  updateManagedInParts,
} from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { type CacheEntry, servedText } from '../cache/entry.ts';
import type { AdmissionRequest, Shape } from './admission.ts';
import { changedObjectErrors, updateRules } from './change-errors.ts';
import type { RequestContext } from './context.ts';
import { unsavedAt } from './create.ts';
import { endsDeletion, remove } from './delete.ts';
import { parseRevision } from './list.ts';
import { dropLink, keepCluster, specChanged, stampUpdate, uniteOwners } from './metadata.ts';
import {
  type Backend,
  cachedEntry,
  checkSize,
  entryAfter,
  placeOf,
  refuse,
  storedEntry,
  type Target,
  textForStore,
  type Written,
  writing,
} from './objects.ts';
import { resetFieldsOf } from './reset-fields.ts';
import { objectInParts, type Resource, readable } from './resource.ts';
import { isUnchanged, isUnchangedInParts } from './unchanged.ts';

/** How often a change without a revision is retried after conflicts. */
const maxTries = 10;

export interface UpdateRequest extends Target {
  readonly subresource: string;
  readonly manager: string;
  readonly dryRun: boolean;
  /** Computes the new object from the old one, which it may modify; called again after a conflict. */
  readonly change: (old: KubeObject) => Changed | Promise<Changed>;
  /** The change neither modifies the old object nor uses parts of it, so it needs no copy. */
  readonly replaces?: true;
  /** The view for admission instead of the object, as a subresource may have another kind. `none`: admission has already approved. */
  readonly admits?: 'none' | AdmittedView;
}

export interface AdmittedView {
  readonly shape: Shape;
  readonly of: (object: KubeObject) => KubeObject;
  /** Applies changes that admission made to the view to the object. */
  readonly into: (object: KubeObject, view: KubeObject) => void;
}

export interface Changed {
  readonly object: KubeObject;
  /** The managed fields are already computed, as by server-side apply. */
  readonly applied?: boolean;
}

/** Updates an existing object. Throws NotFound if it does not exist. */
export async function update(backend: Backend, context: RequestContext, request: UpdateRequest): Promise<Written> {
  let current = cachedEntry(backend, context, request) ?? (await storedEntry(backend, context, request));
  for (let attempt = 1; ; attempt++) {
    if (current === undefined) throw status.notFound(request.resource, request.name);
    try {
      return await tryUpdate(backend, context, { request, current });
    } catch (error) {
      if (error instanceof StaleRevision) {
        // The client's revision may be newer than our cache: check the store before rejecting it.
        const stored = await storedEntry(backend, context, request);
        if (stored === undefined || stored.revision === current.revision)
          throw status.conflict(request.resource, request.name, status.staleObject);
        current = stored;
        continue;
      }
      if (!(error instanceof StoreError) || error.code !== 'conflict') throw error;
      if (attempt === maxTries) throw status.conflict(request.resource, request.name, status.staleObject);
      current = await storedEntry(backend, context, request);
      // Many changes of one object fail together, and would all be repeated in one turn of the event loop.
      await context.turns?.goOn?.();
    }
  }
}

class StaleRevision extends Error {}

async function tryUpdate(
  backend: Backend,
  context: RequestContext,
  { request, current }: { request: UpdateRequest; current: CacheEntry },
): Promise<Written> {
  const { resource, name, subresource, dryRun } = request;
  const converting = readable(resource, [current]);
  if (converting !== undefined) await converting;
  const pace = context.pace();
  const reading = pace.run(objectInParts(resource, current));
  const old = reading instanceof Promise ? await reading : reading;
  const { object, applied } = await request.change(request.replaces === true ? old : await pace.run(objectInParts(resource, current)));
  let pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  checkRevision(resource, object, current, name);
  keepCluster(object, old);
  uniteOwners(object, context.warn);
  const filling = pace.run(applySchemaDefaultsInParts(asJson(object), resource.type));
  if (filling instanceof Promise) await filling;
  resource.strategy.default?.(object);
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  if (applied !== true) {
    const recording = pace.run(recordManager(request, { object, old, now: context.now() }));
    if (recording instanceof Promise) await recording;
  }
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  const view = request.admits === 'none' ? undefined : request.admits;
  const asked: AdmissionRequest = {
    operation: 'UPDATE',
    resource,
    subresource,
    namespace: request.namespace,
    name,
    object: view === undefined ? object : view.of(object),
    old: view === undefined ? old : view.of(old),
    context,
    dryRun,
    ...(view !== undefined && { shape: view.shape, whole: { object, old } }),
  };
  if (request.admits !== 'none') {
    const mutating = backend.admission.mutate(asked);
    if (mutating !== undefined) {
      await mutating;
      pace.resume();
    }
    view?.into(object, asked.object!);
  }
  stampUpdate(object, old);
  object.metadata.resourceVersion = String(current.revision);
  dropUnserved(resource, object, old);
  const told = context.warnings.length;
  prepare(resource, { object, old, subresource }, context);
  if (resource.strategy.generation === true && subresource !== 'status' && subresource !== 'binding' && specChanged(object, old))
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  const errors = await pace.run(changedObjectErrors(resource, { object, old, subresource }, context));
  if (errors.length > 0) context.warnings.length = told;
  refuse(resource, name, errors);
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  resource.strategy.canonicalize?.(object);
  if (request.admits !== 'none') {
    const validating = backend.admission.validate(view === undefined ? asked : { ...asked, object: view.of(object) });
    if (validating !== undefined) await validating;
  }
  if (!dryRun) dropLink(object);
  pausing = pace.pause();
  if (pausing !== undefined) await pausing;
  const unchanged = pace.hasWaited ? await pace.run(isUnchangedInParts(object, old)) : isUnchanged(object, old);
  const place = placeOf(context, request);
  if (dryRun) {
    return { entry: await unsavedAt(pace, { key: place.cached, object, revision: current.revision }), created: false };
  }
  if (endsDeletion(resource, object, old))
    return { entry: await remove(backend, context, { target: request, current, object }), created: false };
  if (unchanged && resource.storage.convert === undefined) return { entry: current, created: false };
  const stored = textForStore(resource, object, pace);
  const text = typeof stored === 'string' ? stored : await stored;
  const checking = pace.run(checkSize(text, current.text.length));
  if (checking instanceof Promise) await checking;
  // An object stored in an older form is rewritten, even if nothing else has changed.
  if (unchanged && servedText(current.key, text, current.revision) === current.text) return { entry: current, created: false };
  const revision = await writing(request, () => backend.store.update(place.stored, text, current.revision));
  return { entry: entryAfter(backend, resource, { key: place.cached, text, revision }), created: false };
}

function checkRevision(resource: Resource, object: KubeObject, current: CacheEntry, name: string): void {
  const given = object.metadata.resourceVersion;
  if (given === undefined || given === '' || given === '0') {
    if (resource.strategy.requireResourceVersion === true) {
      throw status.invalidObject({ group: resource.group, kind: resource.resource }, name, [
        { type: 'FieldValueInvalid', field: 'metadata.resourceVersion', body: 'Invalid value: 0: must be specified for an update' },
      ]);
    }
    return;
  }
  if (given === String(current.revision)) return;
  parseRevision(
    given,
    () => new StatusError({ code: 500, message: `strconv.ParseUint: parsing ${fieldError.quote(given)}: invalid syntax` }),
  );
  throw new StaleRevision();
}

/** Restores the fields that this subresource must not change: spec through status, status through the object itself. */
function prepare(resource: Resource, change: { object: KubeObject; old: KubeObject; subresource: string }, context: RequestContext): void {
  const { object, old, subresource } = change;
  const { prepareForUpdate } = updateRules(resource, subresource);
  if (prepareForUpdate !== undefined) return prepareForUpdate(object, old, context);
  if (subresource === 'status') {
    for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
      if (key === 'status' || key === 'metadata' || key === 'apiVersion' || key === 'kind') continue;
      if (old[key] === undefined) delete object[key];
      else object[key] = old[key];
    }
    return;
  }
  if (!resource.subresources.has('status')) return;
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = old['status'];
}

function recordManager(request: UpdateRequest, change: { object: KubeObject; old: KubeObject; now: Date }): Parts<KubeObject> {
  const { resource, subresource, manager } = request;
  return updateManagedInParts({
    live: change.old,
    updated: change.object,
    type: resource.type,
    manager,
    apiVersion: resource.groupVersion,
    subresource,
    now: change.now,
    resetFields: resetFieldsOf(resource, subresource),
    typeFor: (apiVersion) => (isVersionOf(resource, apiVersion) ? resource.type : undefined),
  });
}

/** Events are in two groups, and some kinds were once in `extensions`: managed fields of any other group are dropped. */
function isVersionOf({ group, resource }: Resource, apiVersion: string): boolean {
  const { group: given } = parseApiVersion(apiVersion);
  return given === group || given === 'extensions' || resource === 'events';
}

import type { FieldError, KubeObject, Parts } from '@capstan/machinery';
import { hasMoreValues, names, status, validateObjectMeta } from '@capstan/machinery';
import { type Store, StoreError } from '@capstan/store';
import { CacheEntry, storedText, storedTextInParts } from '../cache/entry.ts';
import { cacheKey, storeKey, type WatchCache } from '../cache/watch-cache.ts';
import type { Admission, AdmissionRequest } from './admission.ts';
import type { RequestContext } from './context.ts';
import { isShown } from './filter.ts';
import type { Pace } from './pace.ts';
import type { Resource } from './resource.ts';
import { toStatus } from './store-errors.ts';

/** The dependencies of the operations below. */
export interface Backend {
  readonly cache: WatchCache;
  readonly store: Store;
  readonly admission: Admission;
  /** Kinds whose creation involves more than writing the object, by resource. */
  readonly creations?: ReadonlyMap<string, ObjectCreation>;
}

/** The creation of a kind whose objects are not complete on their own. */
export interface ObjectCreation {
  readonly group: string;
  /** Completes the object after mutating admission. */
  complete(request: AdmissionRequest): void;
  /** Writes everything that must exist before the object, after validating admission has allowed it. */
  accompany(request: AdmissionRequest): Promise<void> | undefined;
}

/** One object of one resource, by name. */
export interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface Written {
  readonly entry: CacheEntry;
  readonly created: boolean;
}

export function placeOf(context: RequestContext, { resource, namespace, name }: Target): { cached: string; stored: string } {
  // The path of a namespace names it as its own namespace, but it is cluster-scoped.
  const at = { cluster: resource.origin?.cluster ?? context.cluster, namespace: resource.namespaced ? namespace : '', name };
  return { cached: cacheKey(at), stored: storeKey({ ...at, group: resource.storage.group, resource: resource.storage.resource }) };
}

/** The object from the cache. With several API servers it may be slightly outdated: writes detect that by compare-and-swap. */
export function cachedEntry({ cache }: Backend, context: RequestContext, target: Target): CacheEntry | undefined {
  return shown(cache.resource(target.resource.storage).newest(placeOf(context, target).cached), context, target);
}

/** The object from the store. */
export async function storedEntry({ store }: Backend, context: RequestContext, target: Target): Promise<CacheEntry | undefined> {
  const place = placeOf(context, target);
  const found = await store.get(place.stored);
  return found && shown(CacheEntry.stored(place.cached, found.value, found.revision), context, target);
}

/** Hides objects that a request cannot see. */
function shown(entry: CacheEntry | undefined, { info }: RequestContext, { resource }: Target): CacheEntry | undefined {
  return entry !== undefined && !isShown(resource, entry, info) ? undefined : entry;
}

/** The text to store for an object in a served version. */
export function textForStore(resource: Resource, object: KubeObject, pace?: Pace): string | Promise<string> {
  const stored = resource.storage.convert?.toStorage(object) ?? object;
  // An operation that had to wait has a large object.
  const textOf = (one: KubeObject): string | Promise<string> =>
    pace?.hasWaited === true ? pace.run(storedTextInParts(one)) : storedText(one);
  return stored instanceof Promise ? stored.then(textOf) : textOf(stored);
}

/**
 * The maximum size of an object, equal to that of a request. It also applies to objects that grow through many requests, defaults
 * or webhooks: encoding and decoding them blocks all other requests.
 */
const largestObject = 3 << 20;
/** Fields and items of an object, with its managed fields and defaults. */
const mostValues = 250_000;

/** Rejects an object that has become too large. An object that already was may still be made smaller. */
export function* checkSize(text: string, before = 0): Parts<void> {
  if (text.length <= before || text.length <= 2 * mostValues) return;
  if (text.length > largestObject)
    throw status.requestTooLarge(
      `the object would have ${text.length} characters with its managed fields and defaults, limit is ${largestObject}`,
    );
  if (yield* hasMoreValues(Buffer.from(text), mostValues))
    throw status.requestTooLarge(`the object would have more than ${mostValues} fields and items with its managed fields and defaults`);
}

/** The entry for an object just written: the one in the cache if it has seen the commit. */
export function entryAfter({ cache }: Backend, resource: Resource, written: { key: string; text: string; revision: number }): CacheEntry {
  const held = cache.resource(resource.storage);
  const cached = held.entries.get(written.key);
  if (cached?.revision === written.revision) return cached;
  const entry = CacheEntry.stored(written.key, written.text, written.revision);
  if (written.revision > cache.revision) held.ahead.set(written.key, entry);
  return entry;
}

/** Runs a write to the store and turns its errors into responses. Conflicts pass through, for callers that retry. */
export async function writing<T>(target: Target, write: () => Promise<T>): Promise<T> {
  // No verb leads here: this is the last defence for objects that belong to another workspace.
  if (target.resource.origin !== undefined) throw status.methodNotAllowed();
  try {
    return await write();
  } catch (error) {
    if (error instanceof StoreError && error.code !== 'conflict') throw toStatus(error, target.resource, target.name);
    throw error;
  }
}

export function* newObjectErrors(resource: Resource, object: KubeObject, context: RequestContext): Parts<FieldError[]> {
  const { strategy, namespaced } = resource;
  const errors = validateObjectMeta(object.metadata, {
    namespaced,
    validateName: strategy.validateName ?? names.dns1123Subdomain,
    custom: resource.strategy.anyFinalizer === true,
  });
  yield;
  if (strategy.validate !== undefined) errors.push(...strategy.validate(object, context));
  if (strategy.validateObjectInParts !== undefined) errors.push(...(yield* strategy.validateObjectInParts(object, context)));
  yield;
  const own = strategy.validateCreate?.(object, context) ?? [];
  errors.push(...own);
  if (strategy.validateInParts !== undefined) {
    yield;
    errors.push(...(yield* strategy.validateInParts({ object, old: undefined, errors: own }, context)));
  }
  return errors;
}

export function refuse(resource: Resource, name: string, errors: readonly FieldError[]): void {
  // Events are validated in their stored group, whichever group they came through.
  if (errors.length > 0) throw status.invalidObject({ group: resource.storage.group, kind: resource.kind }, name, errors);
}

import { isObject, type Json, type JsonObject, type KubeObject } from '../json.ts';
import { sameJsonInParts } from '../meta/same-json.ts';
import type { ObjectType } from '../schema/type.ts';
import * as status from '../status/status.ts';
import { type Parts, whole } from '../work/parts.ts';
import { type Comparison, compare, isSame } from './compare.ts';
import { type Conflict, conflictError, conflictsOf, shownIn, withoutAllowed } from './conflicts.ts';
import { createdFields, unowned } from './created.ts';
import { encodeEntries, isSameManager, type Managed, storedEntries } from './entries.ts';
import { differenceInParts, equal, intersection, isEmpty, unionInParts } from './field-set.ts';
import { fieldsOfLastApplied, refreshLastApplied } from './last-applied.ts';
import { mergeInParts } from './merge.ts';
import { prune } from './prune.ts';
import { reconcile } from './reconcile.ts';
import { settle } from './settle.ts';
import { Untypable } from './shape.ts';
import { toFieldSetInParts } from './to-field-set.ts';
import { changedEntry, comparisonOf, timeText, typeOfVersion, withoutFields, withoutReset } from './update-managed.ts';
import { typingProblemInParts } from './validate.ts';

export interface ApplyRequest {
  /** The stored object; undefined if apply creates it. */
  readonly live: KubeObject | undefined;
  /** The configuration as sent: it need not be a complete object. */
  readonly config: JsonObject | KubeObject;
  readonly type: ObjectType;
  /** The kind in the request, which the configuration must have. */
  readonly kind?: string;
  readonly manager: string;
  /** Take fields over from other managers instead of failing. */
  readonly force: boolean;
  readonly apiVersion: string;
  /** The version that conflicts show, if not the managers' own: that of the kind that a subresource shows. */
  readonly shownVersion?: string;
  readonly subresource: string;
  readonly now: Date;
  readonly resetFields?: readonly (readonly string[])[];
  readonly typeFor?: (apiVersion: string) => ObjectType | undefined;
}

export interface ApplyResult {
  /** A new object that shares nothing with the live one, before defaulting and validation. */
  readonly object: KubeObject;
  /** False if neither the object nor its managed fields differ from the live one. */
  readonly changed: boolean;
}

const firstApplier = 'kubectl';

/**
 * Server-side apply. Throws a StatusError: 409 with the conflicts; 400 for a configuration of another kind, with managedFields or nested
 * too deeply; 500 (as Kubernetes does) for one that does not match the type.
 */
export function applyPatch(request: ApplyRequest): ApplyResult {
  return whole(applyInParts(request));
}

/** The same in parts, between which others may run: a large configuration takes long. Nothing may change the live object meanwhile. */
export function* applyInParts(request: ApplyRequest): Parts<ApplyResult> {
  try {
    return yield* applyConfig(request);
  } catch (error) {
    if (error instanceof RangeError) throw status.badRequest('the configuration or the object it is for is nested too deeply');
    // An object may have been created with items that nobody can tell apart.
    if (error instanceof Untypable)
      throw new status.StatusError({ code: 500, message: `failed to create typed live object: ${error.message}` });
    throw error;
  }
}

function* applyConfig(request: ApplyRequest): Parts<ApplyResult> {
  const config = request.config as unknown as JsonObject;
  yield* checkConfig(request, config);
  yield;
  const before = yield* managedBefore(request);
  yield;
  let outcome = yield* attempt(request, before, request.force);
  if ('conflicts' in outcome) {
    const conflicts = conflictsLeft(request, outcome.conflicts);
    if (conflicts.length > 0) throw conflictError(shownIn(conflicts, request.shownVersion));
    outcome = (yield* attempt(request, before, true)) as Applied;
  }
  yield;
  return finish(request, before, outcome);
}

function* checkConfig({ kind, apiVersion, type }: ApplyRequest, config: JsonObject): Parts<void> {
  const given = { apiVersion: textOf(config['apiVersion']), kind: textOf(config['kind']) };
  if (given.apiVersion !== apiVersion || (kind !== undefined && given.kind !== kind) || given.kind === '') {
    throw status.badRequest(`invalid object type: ${printKind(given.apiVersion, given.kind)}`);
  }
  const metadata = config['metadata'];
  if (isObject(metadata) && Array.isArray(metadata['managedFields'])) throw status.badRequest('metadata.managedFields must be nil');
  const problem = yield* typingProblemInParts(type, config);
  if (problem === undefined) return;
  const names = isObject(metadata) ? metadata : {};
  const object = `${textOf(names['namespace'])}/${textOf(names['name'])}; ${printKind(given.apiVersion, given.kind)}`;
  throw new status.StatusError({ code: 500, message: `failed to create typed patch object (${object}): ${problem}` });
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

function printKind(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

/** Fields from before the first apply belong to a manager of their own, so that the first apply can conflict with it. */
function* managedBefore(request: ApplyRequest): Parts<Managed[]> {
  const { live, type, apiVersion, subresource, now } = request;
  const stored = storedEntries(live?.metadata.managedFields);
  if (stored.length > 0 || live === undefined) {
    const served: Managed[] = [];
    for (const one of stored) {
      const versionType = typeOfVersion(request, one.apiVersion);
      if (versionType === undefined) continue;
      const fields = yield* reconcile(versionType, one.fields);
      served.push(fields === one.fields ? one : changedEntry(one, fields));
    }
    return served;
  }
  const fields = withoutReset(yield* createdFields(type, live as unknown as JsonObject), request.resetFields);
  if (isEmpty(fields)) return [];
  return [{ manager: 'before-first-apply', operation: 'Update', apiVersion, subresource, time: timeText(now), fields }];
}

interface Applied {
  readonly object: JsonObject;
  readonly managed: Managed[];
  readonly sameObject: boolean;
}

function* attempt(request: ApplyRequest, before: readonly Managed[], force: boolean): Parts<Applied | { readonly conflicts: Conflict[] }> {
  const { type, manager, apiVersion, subresource } = request;
  const live = (request.live ?? {}) as unknown as JsonObject;
  const config = request.config as unknown as JsonObject;
  const owned = withoutReset(yield* toFieldSetInParts(type, config), request.resetFields);
  const mine: Managed = { manager, operation: 'Apply', apiVersion, subresource, time: undefined, fields: owned };
  const last = before.find((one) => isSameManager(one, mine));
  const others = before.filter((one) => one !== last);
  const bare = withoutManagedFields(live);
  yield;
  try {
    let merged = (yield* mergeInParts(type, bare, config)) as JsonObject;
    yield;
    const lastType = last && typeOfVersion(request, last.apiVersion);
    // Otherwise the manager still applies everything that it applied before, so there is nothing to remove.
    if (last !== undefined && lastType !== undefined && !isEmpty(yield* differenceInParts(last.fields, owned))) {
      yield;
      merged = (yield* prune(merged, { type: lastType, last: last.fields, managed: [...others, mine] })) as JsonObject;
    }
    yield;
    const comparison = yield* comparisonWith(request, merged);
    yield;
    const conflicts = force ? [] : yield* findConflicts(others, comparison);
    if (conflicts.length > 0) return { conflicts };
    const left = yield* withoutFields(others, { ...request, updated: merged as unknown as KubeObject }, comparison);
    yield;
    const object = yield* settle(type, merged);
    yield;
    // In built-in kinds, nulls in the live object are no difference either.
    const isAsBefore =
      (yield* sameJsonInParts(bare, object)) || (isSame(comparison) && (yield* sameJsonInParts(yield* settle(type, bare), object)));
    const sameObject = request.live !== undefined && isAsBefore;
    const fields = yield* differenceInParts(owned, unowned);
    const time = sameObject ? last?.time : timeText(request.now);
    return { object, sameObject, managed: isEmpty(fields) ? left : [...left, { ...mine, fields, time }] };
  } catch (error) {
    if (!(error instanceof Untypable)) throw error;
    throw new status.StatusError({ code: 500, message: `failed to merge config: ${error.message}` });
  }
}

function* comparisonWith(request: ApplyRequest, merged: JsonObject): Parts<Comparison> {
  const updated = merged as unknown as KubeObject;
  if (request.live === undefined) return compare(request.type, {}, {});
  return yield* comparisonOf({ ...request, updated }, request.type);
}

function* findConflicts(others: readonly Managed[], { modified, added }: Comparison): Parts<Conflict[]> {
  const changed = yield* unionInParts(modified, added);
  yield;
  return conflictsOf(
    others.map((manager) => ({ manager, fields: intersection(manager.fields, changed) })).filter(({ fields }) => !isEmpty(fields)),
  );
}

/** kubectl may take over fields that its own client-side apply has set. */
function conflictsLeft({ live, type, apiVersion, manager }: ApplyRequest, conflicts: readonly Conflict[]): readonly Conflict[] {
  if (manager !== firstApplier || live === undefined) return conflicts;
  const allowed = fieldsOfLastApplied(live, type, apiVersion);
  return allowed === undefined ? conflicts : withoutAllowed(conflicts, allowed);
}

function withoutManagedFields(object: JsonObject): JsonObject {
  if (!isObject(object['metadata'])) return object;
  const { managedFields: _, ...metadata } = object['metadata'];
  return { ...object, metadata };
}

function finish(request: ApplyRequest, before: readonly Managed[], applied: Applied): ApplyResult {
  const { managed, sameObject } = applied;
  const object = applied.object as unknown as KubeObject;
  object.metadata ??= {};
  if (request.manager === firstApplier) refreshLastApplied(object, request.config as unknown as JsonObject);
  const entries = encodeEntries(managed);
  if (entries !== undefined) object.metadata.managedFields = entries;
  return { object, changed: !sameObject || !sameManaged(before, managed) };
}

function sameManaged(before: readonly Managed[], after: readonly Managed[]): boolean {
  if (before.length !== after.length) return false;
  return after.every((one) =>
    before.some((other) => isSameManager(one, other) && one.apiVersion === other.apiVersion && equal(one.fields, other.fields)),
  );
}

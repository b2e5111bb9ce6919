import { isObject, type Json, type JsonObject, type KubeObject } from '../json.ts';
import type { ObjectType } from '../schema/type.ts';
import * as status from '../status/status.ts';
import { type Parts, whole } from '../work/parts.ts';
import { type Comparison, compare, isSame } from './compare.ts';
import { type Conflict, conflictError, conflictsOf, shownIn, withoutAllowed } from './conflicts.ts';
import { createdFields, unowned } from './created.ts';
import { encodeEntries, isSameManager, type Managed, storedEntries } from './entries.ts';
import { difference, equal, type FieldSet, intersection, isEmpty, union } from './field-set.ts';
import { fieldsOfLastApplied, refreshLastApplied } from './last-applied.ts';
import { merge } from './merge.ts';
import { prune } from './prune.ts';
import { reconcile } from './reconcile.ts';
import { settle } from './settle.ts';
import { jsonEqual, Untypable } from './shape.ts';
import { toFieldSet } from './to-field-set.ts';
import { changedEntry, comparisonOf, timeText, typeOfVersion, withoutFields, withoutReset } from './update-managed.ts';
import { typingProblem } from './validate.ts';

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
  checkConfig(request, config);
  yield;
  const before = managedBefore(request);
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

function checkConfig({ kind, apiVersion, type }: ApplyRequest, config: JsonObject): void {
  const given = { apiVersion: textOf(config['apiVersion']), kind: textOf(config['kind']) };
  if (given.apiVersion !== apiVersion || (kind !== undefined && given.kind !== kind) || given.kind === '') {
    throw status.badRequest(`invalid object type: ${printKind(given.apiVersion, given.kind)}`);
  }
  const metadata = config['metadata'];
  if (isObject(metadata) && Array.isArray(metadata['managedFields'])) throw status.badRequest('metadata.managedFields must be nil');
  const problem = typingProblem(type, config);
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
function managedBefore(request: ApplyRequest): Managed[] {
  const { live, type, apiVersion, subresource, now } = request;
  const stored = storedEntries(live?.metadata.managedFields);
  if (stored.length > 0 || live === undefined) {
    return stored.flatMap((one) => {
      const versionType = typeOfVersion(request, one.apiVersion);
      if (versionType === undefined) return [];
      const fields = reconcile(versionType, one.fields);
      return [fields === one.fields ? one : changedEntry(one, fields)];
    });
  }
  const fields = withoutReset(createdFields(type, live as unknown as JsonObject), request.resetFields);
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
  const owned = withoutReset(toFieldSet(type, config), request.resetFields);
  const mine: Managed = { manager, operation: 'Apply', apiVersion, subresource, time: undefined, fields: owned };
  const last = before.find((one) => isSameManager(one, mine));
  const others = before.filter((one) => one !== last);
  const bare = withoutManagedFields(live);
  yield;
  try {
    let merged = merge(type, bare, config) as JsonObject;
    yield;
    const lastType = last && typeOfVersion(request, last.apiVersion);
    if (last !== undefined && lastType !== undefined && !isWithin(last.fields, owned)) {
      yield;
      merged = (yield* prune(merged, { type: lastType, last: last.fields, managed: [...others, mine] })) as JsonObject;
    }
    yield;
    const comparison = comparisonWith(request, merged);
    yield;
    const conflicts = force ? [] : findConflicts(others, comparison);
    if (conflicts.length > 0) return { conflicts };
    const left = withoutFields(others, { ...request, updated: merged as unknown as KubeObject }, comparison);
    yield;
    const object = settle(type, merged);
    yield;
    // In built-in kinds, nulls in the live object are no difference either.
    const isAsBefore = (): boolean => jsonEqual(bare, object) || (isSame(comparison) && jsonEqual(settle(type, bare), object));
    const sameObject = request.live !== undefined && isAsBefore();
    const fields = difference(owned, unowned);
    const time = sameObject ? last?.time : timeText(request.now);
    return { object, sameObject, managed: isEmpty(fields) ? left : [...left, { ...mine, fields, time }] };
  } catch (error) {
    if (!(error instanceof Untypable)) throw error;
    throw new status.StatusError({ code: 500, message: `failed to merge config: ${error.message}` });
  }
}

/** Whether the manager still applies everything that it applied before, so that there is nothing to remove. */
function isWithin(last: FieldSet, owned: FieldSet): boolean {
  return isEmpty(difference(last, owned));
}

function comparisonWith(request: ApplyRequest, merged: JsonObject): Comparison {
  const updated = merged as unknown as KubeObject;
  if (request.live === undefined) return compare(request.type, {}, {});
  return comparisonOf({ ...request, updated }, request.type);
}

function findConflicts(others: readonly Managed[], { modified, added }: Comparison): Conflict[] {
  const changed = union(modified, added);
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

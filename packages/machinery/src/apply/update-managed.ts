import type { JsonObject, KubeObject, ManagedFieldsEntry } from '../json.ts';
import { sameJsonInParts } from '../meta/same-json.ts';
import type { ObjectType } from '../schema/type.ts';
import { type Parts, whole } from '../work/parts.ts';
import { type Comparison, changedFields, compareInParts, isSame } from './compare.ts';
import { createdFields, unowned } from './created.ts';
import { capUpdateManagers, decodeEntries, encodeEntries, isReset, isSameManager, type Managed, storedEntries } from './entries.ts';
import { differenceInParts, emptySet, type FieldSet, fieldPath, isEmpty, recursiveDifference, setOf, unionInParts } from './field-set.ts';
import { MalformedFields } from './fields-v1.ts';
import { reconcile } from './reconcile.ts';
import { Untypable } from './shape.ts';
import { isBuiltIn } from './zero.ts';

export interface ManagedUpdate {
  /** The live object; undefined on create. */
  readonly live: KubeObject | undefined;
  /** The object to be stored. Its managedFields are set here. */
  readonly updated: KubeObject;
  readonly type: ObjectType;
  readonly manager: string;
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly now: Date;
  /** Fields that this endpoint never owns, as paths of field names. */
  readonly resetFields?: readonly (readonly string[])[];
  /** The type of the kind in another API version; undefined if that version is no longer served. */
  readonly typeFor?: (apiVersion: string) => ObjectType | undefined;
}

/**
 * Sets `updated.metadata.managedFields` after a create, update or patch, as Kubernetes does, and returns `updated`. Never rejects a
 * request: an object whose fields cannot be told apart is stored without managedFields.
 */
export function updateManaged(update: ManagedUpdate): KubeObject {
  return whole(updateManagedInParts(update));
}

/** The same in parts, between which others may run: a large object takes long. Nothing may change the objects meanwhile. */
export function* updateManagedInParts(update: ManagedUpdate): Parts<KubeObject> {
  const { metadata } = update.updated;
  const entries = yield* managedFieldsOf(update);
  if (entries === undefined) delete metadata.managedFields;
  else metadata.managedFields = entries;
  return update.updated;
}

function* managedFieldsOf(update: ManagedUpdate): Parts<ManagedFieldsEntry[] | undefined> {
  try {
    const before = yield* entriesBefore(update);
    if (before.length === 0) {
      // An existing object that has lost its entries gets none until someone applies to it.
      return update.live === undefined ? encodeEntries(yield* creation(update)) : undefined;
    }
    return yield* afterChange(update, before);
  } catch (error) {
    // An object too deep for the stack is treated the same way.
    if (error instanceof Untypable || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** No real request sends this many entries. Updaters are merged down to ten one by one, so thousands of them would block the server. */
const mostSent = 100;

/** A request may send its own entries to change or clear them; otherwise the stored ones apply. */
function* entriesBefore({ live, updated, subresource }: ManagedUpdate): Parts<Managed[]> {
  const stored = live?.metadata.managedFields;
  const sent = updated.metadata.managedFields;
  if (subresource !== '' || sent === undefined || sent === stored) return storedEntries(stored);
  if (isReset(sent)) return [];
  if (!Array.isArray(sent) || sent.length > mostSent) return storedEntries(stored);
  if (stored !== undefined && (yield* sameJsonInParts(sent, stored))) return storedEntries(stored);
  try {
    return decodeEntries(sent);
  } catch (error) {
    if (error instanceof MalformedFields) return storedEntries(stored);
    throw error;
  }
}

function* creation(update: ManagedUpdate): Parts<Managed[]> {
  const fields = withoutReset(yield* createdFields(update.type, update.updated as unknown as JsonObject), update.resetFields);
  return isEmpty(fields) ? [] : [managerOf(update, fields)];
}

/** The entry of the manager that makes this change. */
function managerOf({ manager, apiVersion, subresource, now }: ManagedUpdate, fields: FieldSet): Managed {
  return { manager: manager === '' ? 'unknown' : manager, operation: 'Update', apiVersion, subresource, time: timeText(now), fields };
}

export const timeText = (now: Date): string => `${now.toISOString().slice(0, 19)}Z`;

function* afterChange(update: ManagedUpdate, before: Managed[]): Parts<ManagedFieldsEntry[] | undefined> {
  const comparison = yield* comparisonOf(update, update.type);
  if (isSame(comparison) && before[0]!.entry !== undefined && isBuiltIn(update.type)) return encodeEntries(before);
  const others = yield* withoutFields(before, update, comparison);
  const owned = yield* differenceInParts(yield* unionInParts(comparison.modified, comparison.added), unowned);
  return encodeEntries(capUpdateManagers(isEmpty(owned) ? others : yield* withManager(others, managerOf(update, owned))));
}

/** The changed fields, except those that must not be owned. Without a live object, every field was added. */
export function* comparisonOf(
  { live, updated, resetFields }: Pick<ManagedUpdate, 'live' | 'updated' | 'resetFields'>,
  type: ObjectType,
): Parts<Comparison> {
  if (live === undefined) {
    return {
      removed: emptySet,
      modified: emptySet,
      added: withoutReset(yield* createdFields(type, updated as unknown as JsonObject), resetFields),
    };
  }
  const { removed, modified, added } = yield* compareInParts(type, withoutManagedFields(live), withoutManagedFields(updated));
  return {
    removed: withoutReset(removed, resetFields),
    modified: withoutReset(modified, resetFields),
    added: withoutReset(added, resetFields),
  };
}

/** Managed fields are the largest part of many objects and are never compared. */
function withoutManagedFields(object: KubeObject): JsonObject {
  if (object.metadata.managedFields === undefined) return object as unknown as JsonObject;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata } as unknown as JsonObject;
}

const resetSets = new WeakMap<readonly (readonly string[])[], FieldSet>();

export function withoutReset(fields: FieldSet, resetFields: readonly (readonly string[])[] | undefined): FieldSet {
  if (resetFields === undefined || resetFields.length === 0) return fields;
  let reset = resetSets.get(resetFields);
  if (reset === undefined) {
    reset = setOf(resetFields.map((path) => fieldPath(...path)));
    resetSets.set(resetFields, reset);
  }
  return recursiveDifference(fields, reset);
}

/** Takes the changed fields from all their owners. Drops managers that own nothing any more or used a version that is no longer served. */
export function* withoutFields(
  managed: readonly Managed[],
  update: Pick<ManagedUpdate, 'live' | 'updated' | 'resetFields' | 'type' | 'apiVersion' | 'typeFor'>,
  comparison: Comparison,
): Parts<Managed[]> {
  const changed = new Map<string, FieldSet>([[update.apiVersion, yield* changedFields(comparison)]]);
  const result: Managed[] = [];
  for (const one of managed) {
    const type = typeOfVersion(update, one.apiVersion);
    if (type === undefined) continue;
    let gone = changed.get(one.apiVersion);
    if (gone === undefined) {
      gone = type === update.type ? changed.get(update.apiVersion)! : yield* changedFields(yield* comparisonOf(update, type));
      changed.set(one.apiVersion, gone);
    }
    const fields = yield* differenceInParts(isBuiltIn(type) ? one.fields : yield* reconcile(type, one.fields), gone);
    if (!isEmpty(fields)) result.push(fields === one.fields ? one : changedEntry(one, fields));
  }
  return result;
}

export function changedEntry(managed: Managed, fields: FieldSet): Managed {
  const { manager, operation, apiVersion, subresource, time } = managed;
  return { manager, operation, apiVersion, subresource, time, fields };
}

/** If other versions are not known, they are assumed to have the same type. */
export function typeOfVersion(
  { type, apiVersion, typeFor }: Pick<ManagedUpdate, 'type' | 'apiVersion' | 'typeFor'>,
  version: string,
): ObjectType | undefined {
  return version === apiVersion || typeFor === undefined ? type : typeFor(version);
}

/** Adds the fields to the manager's entry, or appends a new entry. */
function* withManager(managed: readonly Managed[], manager: Managed): Parts<Managed[]> {
  const index = managed.findIndex((one) => isSameManager(one, manager));
  if (index < 0) return [...managed, manager];
  return managed.with(index, { ...manager, fields: yield* unionInParts(manager.fields, managed[index]!.fields) });
}

import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { emptySet, type FieldSet, isEmpty, sortedInParts, unionInParts, withSelfInParts } from './field-set.ts';
import type { PathElement } from './path-element.ts';
import { fieldTypeOrDeduced, itemElement, itemType, jsonEqual, listOf, mapOf, own, shapeOf } from './shape.ts';

/** The differences between two versions of an object. A field is in at most one of the sets. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** The comparison of one node. Undefined parts are empty, and so is an undefined change. */
interface Change {
  readonly removed?: FieldSet | undefined;
  readonly modified?: FieldSet | undefined;
  readonly added?: FieldSet | undefined;
}

/** Of two maps or lists that are both empty or absent. */
const nothingInside: Change = {};
const leafAdded: Change = { added: emptySet };
const leafRemoved: Change = { removed: emptySet };
const leafModified: Change = { modified: emptySet };

/** Compares two objects of a type, field by field. Throws Untypable for lists whose items cannot be told apart. */
export function compare(type: Type, before: Json, after: Json): Comparison {
  return whole(compareInParts(type, before, after));
}

export function* compareInParts(type: Type, before: Json, after: Json): Parts<Comparison> {
  const change = yield* compareNode(type, before, after);
  return { removed: change?.removed ?? emptySet, modified: change?.modified ?? emptySet, added: change?.added ?? emptySet };
}

/** All added, modified and removed fields. */
export function* changedFields(comparison: Comparison): Parts<FieldSet> {
  return yield* unionInParts(yield* unionInParts(comparison.modified, comparison.added), comparison.removed);
}

export const isSame = (comparison: Comparison): boolean =>
  isEmpty(comparison.removed) && isEmpty(comparison.modified) && isEmpty(comparison.added);

function* compareNode(type: Type, before: Json | undefined, after: Json | undefined): Parts<Change | undefined> {
  if (before === after) return undefined;
  // Null matches any shape, so it takes the other side's.
  const shape = shapeOf(type, after ?? before);
  if (type.kind === 'any' && shape !== shapeOf(type, before ?? after)) {
    // A deduced value changed from a map to a plain value or back: it is modified, and the map's fields were removed or added.
    return { ...(yield* compareMaps(type, mapOf(before), mapOf(after))), modified: emptySet };
  }
  if (shape === 'map') {
    const change = yield* compareMaps(type, mapOf(before), mapOf(after));
    if (change !== nothingInside) return before === undefined || after === undefined ? yield* withPresence(change, before) : change;
  } else if (shape === 'list') {
    const left = listOf(before);
    const right = listOf(after);
    if (left?.length || right?.length) {
      const change = yield* compareLists(type as ListType, left, right);
      return before === undefined || after === undefined ? yield* withPresence(change, before) : change;
    }
  }
  return compareLeaves(before, after);
}

/** A value that has no fields or items, whatever its type says: it is compared as a whole. */
const isScalar = (value: Json | undefined): boolean => typeof value !== 'object' || value === null;

function compareLeaves(before: Json | undefined, after: Json | undefined): Change | undefined {
  if (before === undefined) return leafAdded;
  if (after === undefined) return leafRemoved;
  return jsonEqual(before, after) ? undefined : leafModified;
}

/** A map or list that is new or gone, itself included. */
function* withPresence(change: Change | undefined, before: Json | undefined): Parts<Change> {
  if (before === undefined) return { ...change, added: change?.added === undefined ? emptySet : yield* withSelfInParts(change.added) };
  return { ...change, removed: change?.removed === undefined ? emptySet : yield* withSelfInParts(change.removed) };
}

/** Collects the changes of one node's children. */
class Changes {
  #removed: { [element: PathElement]: FieldSet } | undefined;
  #modified: { [element: PathElement]: FieldSet } | undefined;
  #added: { [element: PathElement]: FieldSet } | undefined;

  put(element: PathElement, change: Change | undefined): void {
    if (change === undefined) return;
    if (change.removed !== undefined) (this.#removed ??= {})[element] = change.removed;
    if (change.modified !== undefined) (this.#modified ??= {})[element] = change.modified;
    if (change.added !== undefined) (this.#added ??= {})[element] = change.added;
  }

  *result(): Parts<Change | undefined> {
    if (this.#removed === undefined && this.#modified === undefined && this.#added === undefined) return undefined;
    return {
      removed: this.#removed && (yield* sortedInParts(this.#removed)),
      modified: this.#modified && (yield* sortedInParts(this.#modified)),
      added: this.#added && (yield* sortedInParts(this.#added)),
    };
  }
}

function* compareMaps(type: Type, before: JsonObject | undefined, after: JsonObject | undefined): Parts<Change | undefined> {
  const changes = new Changes();
  const keys = after === undefined ? [] : Object.keys(after);
  for (const key of keys) {
    if (endsPart()) yield;
    const old = own(before, key);
    const value = after![key];
    if (value === old) continue;
    if (isScalar(value) && isScalar(old)) changes.put(`f:${key}`, compareLeaves(old, value));
    else changes.put(`f:${key}`, yield* compareNode(fieldTypeOrDeduced(type, key), old, value));
  }
  const oldKeys = before === undefined ? [] : Object.keys(before);
  for (const key of oldKeys) {
    if (endsPart()) yield;
    if (after !== undefined && Object.hasOwn(after, key)) continue;
    const old = before![key];
    if (old !== undefined)
      changes.put(`f:${key}`, isScalar(old) ? leafRemoved : yield* compareNode(fieldTypeOrDeduced(type, key), old, undefined));
  }
  return keys.length + oldKeys.length === 0 ? nothingInside : yield* changes.result();
}

function* compareLists(type: ListType, before: Json[] | undefined, after: Json[] | undefined): Parts<Change | undefined> {
  const old = yield* itemsByElement(type, before);
  const fresh = yield* itemsByElement(type, after);
  const changes = new Changes();
  for (const [element, items] of fresh) {
    if (endsPart()) yield;
    changes.put(element, yield* compareItems(type, old.get(element), items));
  }
  for (const [element, items] of old) {
    if (endsPart()) yield;
    if (!fresh.has(element)) changes.put(element, yield* compareItems(type, items, undefined));
  }
  return yield* changes.result();
}

function* itemsByElement(type: ListType, list: Json[] | undefined): Parts<Map<PathElement, Json[]>> {
  const items = new Map<PathElement, Json[]>();
  for (const item of list ?? []) {
    if (endsPart()) yield;
    const element = itemElement(type, item);
    const same = items.get(element);
    if (same === undefined) items.set(element, [item]);
    else same.push(item);
  }
  return items;
}

/** Items that share a key, which validation forbids but old objects may have, are compared as one value. */
function* compareItems(type: ListType, before: Json[] | undefined, after: Json[] | undefined): Parts<Change | undefined> {
  const oldCount = before?.length ?? 0;
  const newCount = after?.length ?? 0;
  if (oldCount <= 1 && newCount <= 1) return yield* compareNode(itemType(type), before?.[0], after?.[0]);
  if (oldCount >= 2 && newCount >= 2) return jsonEqual(before!, after!) ? undefined : leafModified;
  if (oldCount >= 2) {
    const fresh = newCount === 0 ? undefined : yield* compareNode(itemType(type), undefined, after![0]);
    return { ...fresh, removed: emptySet };
  }
  const gone = oldCount === 0 ? undefined : yield* compareNode(itemType(type), before![0], undefined);
  return { ...gone, added: emptySet };
}

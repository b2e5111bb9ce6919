import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import type { PathElement } from './path-element.ts';
import { fieldTypeOrDeduced, itemElement, itemType, listOf, mapOf, own, setOwn, shapeOf } from './shape.ts';

/** Merges an applied configuration into the live object. Removes nothing. The result shares parts with both. */
export function merge(type: Type, live: Json | undefined, applied: Json | undefined): Json | undefined {
  return whole(mergeInParts(type, live, applied));
}

export function* mergeInParts(type: Type, live: Json | undefined, applied: Json | undefined): Parts<Json | undefined> {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  switch (shapeOf(type, applied ?? live)) {
    case 'leaf':
      return applied;
    case 'map': {
      const left = mapOf(live);
      const right = mapOf(applied);
      if (left === undefined) return applied;
      if (right !== undefined) return yield* mergeMaps(type, left, right);
      return Object.keys(left).length === 0 ? applied : left;
    }
    case 'list': {
      const left = listOf(live);
      const right = listOf(applied);
      if (left === undefined || left.length === 0) return applied;
      return right === undefined || right.length === 0 ? left : yield* mergeLists(type as ListType, left, right);
    }
  }
}

function* mergeMaps(type: Type, live: JsonObject, applied: JsonObject): Parts<JsonObject> {
  const keys = Object.keys(live);
  if (keys.length === 0) return applied;
  yield;
  const result: JsonObject = {};
  for (const key of keys) {
    if (endsPart()) yield;
    const before = live[key];
    const after = own(applied, key);
    const valueType = fieldTypeOrDeduced(type, key);
    const value = after === undefined ? before : valueType.kind === 'scalar' ? after : yield* mergeInParts(valueType, before, after);
    if (value !== undefined) setOwn(result, key, value);
  }
  yield;
  for (const key of Object.keys(applied)) {
    if (endsPart()) yield;
    if (own(live, key) === undefined) setOwn(result, key, applied[key]!);
  }
  return result;
}

/** Items in the configuration's order, with the live items that it does not mention in their places between them. */
function* mergeLists(type: ListType, live: Json[], applied: Json[]): Parts<Json[]> {
  const result: Json[] = [];
  const liveElements = live.map((item) => itemElement(type, item));
  const appliedElements = applied.map((item) => itemElement(type, item));
  const liveItems = uniqueItems(liveElements, live);
  const appliedItems = new Map(appliedElements.map((element, index) => [element, applied[index]!]));
  const shared = appliedElements.filter((element) => liveItems.has(element));
  const done = new Set<PathElement>();
  let nextShared = 0;
  let left = 0;
  let right = 0;
  const takeApplied = function* (element: PathElement): Parts<void> {
    done.add(element);
    const item = yield* mergeInParts(itemType(type), liveItems.get(element), appliedItems.get(element));
    if (item !== undefined) result.push(item);
    right++;
    if (shared[nextShared] === element) nextShared++;
  };
  while (left < liveElements.length || right < appliedElements.length) {
    if (endsPart()) yield;
    const element = liveElements[left];
    if (element !== undefined && right < appliedElements.length) {
      if (element === appliedElements[right]) {
        left++;
        yield* takeApplied(element);
        continue;
      }
      if (appliedItems.has(element) && nextShared < shared.length && shared[nextShared] !== element) {
        left++;
        continue;
      }
    }
    if (element !== undefined) {
      if (!appliedItems.has(element)) {
        result.push(live[left]!);
        left++;
        continue;
      }
      if (done.has(element)) left++;
    }
    if (right < appliedElements.length) yield* takeApplied(appliedElements[right]!);
  }
  return result;
}

/** Undefined for duplicate items: those are replaced, not merged. */
function uniqueItems(elements: readonly PathElement[], list: readonly Json[]): Map<PathElement, Json | undefined> {
  const items = new Map<PathElement, Json | undefined>();
  elements.forEach((element, index) => {
    items.set(element, items.has(element) ? undefined : list[index]);
  });
  return items;
}

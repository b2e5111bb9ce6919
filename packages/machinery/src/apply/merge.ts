import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import type { PathElement } from './path-element.ts';
import { fieldTypeOrDeduced, itemElement, itemType, listOf, mapOf, own, setOwn, shapeOf } from './shape.ts';

/** Merges an applied configuration into the live object. Removes nothing. The result shares parts with both. */
export function merge(type: Type, live: Json | undefined, applied: Json | undefined): Json | undefined {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  switch (shapeOf(type, applied ?? live)) {
    case 'leaf':
      return applied;
    case 'map': {
      const left = mapOf(live);
      const right = mapOf(applied);
      if (left === undefined || Object.keys(left).length === 0) return applied;
      return right === undefined ? left : mergeMaps(type, left, right);
    }
    case 'list': {
      const left = listOf(live);
      const right = listOf(applied);
      if (left === undefined || left.length === 0) return applied;
      return right === undefined || right.length === 0 ? left : mergeLists(type as ListType, left, right);
    }
  }
}

function mergeMaps(type: Type, live: JsonObject, applied: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(live)) {
    const value = merge(fieldTypeOrDeduced(type, key), live[key], own(applied, key));
    if (value !== undefined) setOwn(result, key, value);
  }
  for (const key of Object.keys(applied)) if (own(live, key) === undefined) setOwn(result, key, applied[key]!);
  return result;
}

/** Items in the configuration's order, with the live items that it does not mention in their places between them. */
function mergeLists(type: ListType, live: Json[], applied: Json[]): Json[] {
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
  const takeApplied = (element: PathElement): void => {
    done.add(element);
    const item = merge(itemType(type), liveItems.get(element), appliedItems.get(element));
    if (item !== undefined) result.push(item);
    right++;
    if (shared[nextShared] === element) nextShared++;
  };
  while (left < liveElements.length || right < appliedElements.length) {
    const element = liveElements[left];
    if (element !== undefined && right < appliedElements.length) {
      if (element === appliedElements[right]) {
        left++;
        takeApplied(element);
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
    if (right < appliedElements.length) takeApplied(appliedElements[right]!);
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

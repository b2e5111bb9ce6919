import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import { below, type FieldSet, has, isEmpty } from './field-set.ts';
import { fieldTypeOrDeduced, itemElement, itemType, setOwn, shapeOf } from './shape.ts';

/**
 * The value without the fields and items of the set; undefined if nothing is left. A container that is emptied but not in the set itself
 * becomes null: it still exists for its owners.
 */
export function removeItems(type: Type, value: Json, items: FieldSet): Json | undefined {
  if (isEmpty(items)) return value;
  switch (shapeOf(type, value)) {
    case 'map':
      return typeof value === 'object' && !Array.isArray(value) && value !== null ? removeFields(type, value, items) : undefined;
    case 'list':
      return Array.isArray(value) ? removeFromList(type as ListType, value, items) : undefined;
    default:
      return type.kind === 'scalar' || type.kind === 'any' ? value : undefined;
  }
}

function removeFields(type: Type, map: JsonObject, items: FieldSet): JsonObject | undefined {
  const result: JsonObject = {};
  let count = 0;
  for (const key of Object.keys(map)) {
    const element = `f:${key}`;
    if (has(items, [element])) continue;
    const inside = below(items, element);
    setOwn(result, key, inside === undefined ? map[key]! : (removeItems(fieldTypeOrDeduced(type, key), map[key]!, inside) ?? null));
    count++;
  }
  return count === 0 ? undefined : result;
}

function removeFromList(type: ListType, list: Json[], items: FieldSet): Json[] | undefined {
  const result: Json[] = [];
  for (const item of list) {
    const element = itemElement(type, item);
    if (has(items, [element])) continue;
    const inside = below(items, element);
    result.push(inside === undefined ? item : (removeItems(itemType(type), item, inside) ?? null));
  }
  return result.length === 0 ? undefined : result;
}

/** Only the fields and items of the set, with their containers; undefined if there are none. */
export function extractItems(type: Type, value: Json, items: FieldSet): Json | undefined {
  const shape = shapeOf(type, value);
  if (shape === 'leaf') return value;
  if (Array.isArray(value)) {
    const result: Json[] = [];
    for (const item of value) {
      const node = items[itemElement(type as ListType, item)];
      const kept = node && extractItems(itemType(type), item, node);
      if (kept !== undefined) result.push(kept);
    }
    return result.length === 0 && !isEmpty(items) ? undefined : result;
  }
  if (typeof value !== 'object' || value === null) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const node = items[`f:${key}`];
    const kept = node && extractItems(fieldTypeOrDeduced(type, key), value[key]!, node);
    if (kept !== undefined) setOwn(result, key, kept);
  }
  return Object.keys(result).length === 0 && !isEmpty(items) ? undefined : result;
}

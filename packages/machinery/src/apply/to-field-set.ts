import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import { emptySet, type FieldSet, sorted, withSelf } from './field-set.ts';
import { fieldTypeOrDeduced, isNamedField, itemElement, itemType, listOf, mapOf, shapeOf } from './shape.ts';

/** The fields that an object mentions: leaves, items and map keys, but not the structs around them. */
export function toFieldSet(type: Type, value: Json): FieldSet {
  return nodeOf(type, value) ?? emptySet;
}

/** Undefined if neither the value nor anything below it is mentioned. */
function nodeOf(type: Type, value: Json): FieldSet | undefined {
  switch (shapeOf(type, value)) {
    case 'leaf':
      return emptySet;
    case 'map': {
      const map = mapOf(value);
      return map === undefined ? undefined : fieldsOf(type, map);
    }
    case 'list': {
      const list = listOf(value);
      return list === undefined ? undefined : itemsOf(type as ListType, list);
    }
  }
}

function fieldsOf(type: Type, map: JsonObject): FieldSet | undefined {
  let result: { [element: string]: FieldSet } | undefined;
  for (const key of Object.keys(map)) {
    const value = map[key]!;
    let node = nodeOf(fieldTypeOrDeduced(type, key), value);
    if (value === null || isEmptyMap(value) || !isNamedField(type, key)) node = node === undefined ? emptySet : withSelf(node);
    if (node !== undefined) (result ??= {})[`f:${key}`] = node;
  }
  return result && sorted(result);
}

const isEmptyMap = (value: Json): boolean => typeof value === 'object' && !Array.isArray(value) && Object.keys(value!).length === 0;

function itemsOf(type: ListType, list: Json[]): FieldSet | undefined {
  let result: { [element: string]: FieldSet } | undefined;
  for (const item of list) {
    const element = itemElement(type, item);
    result ??= {};
    if (element in result) {
      // A duplicate key: its writer owns the item as a whole.
      result[element] = emptySet;
      continue;
    }
    const node = nodeOf(itemType(type), item);
    result[element] = node === undefined ? emptySet : withSelf(node);
  }
  return result && sorted(result);
}

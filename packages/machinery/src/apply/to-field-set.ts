import type { Json, JsonObject } from '../json.ts';
import type { ListType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { emptySet, type FieldSet, sortedInParts, withSelf } from './field-set.ts';
import { fieldTypeOrDeduced, isNamedField, itemElement, itemType, listOf, mapOf, shapeOf } from './shape.ts';

/** The fields that an object mentions: leaves, items and map keys, but not the structs around them. */
export function toFieldSet(type: Type, value: Json): FieldSet {
  return whole(toFieldSetInParts(type, value));
}

export function* toFieldSetInParts(type: Type, value: Json): Parts<FieldSet> {
  return (yield* nodeOf(type, value)) ?? emptySet;
}

/** Undefined if neither the value nor anything below it is mentioned. */
function* nodeOf(type: Type, value: Json): Parts<FieldSet | undefined> {
  switch (shapeOf(type, value)) {
    case 'leaf':
      return emptySet;
    case 'map': {
      const map = mapOf(value);
      return map === undefined ? undefined : yield* fieldsOf(type, map);
    }
    case 'list': {
      const list = listOf(value);
      return list === undefined ? undefined : yield* itemsOf(type as ListType, list);
    }
  }
}

function* fieldsOf(type: Type, map: JsonObject): Parts<FieldSet | undefined> {
  let result: { [element: string]: FieldSet } | undefined;
  for (const key of Object.keys(map)) {
    if (endsPart()) yield;
    const value = map[key]!;
    const valueType = fieldTypeOrDeduced(type, key);
    let node = valueType.kind === 'scalar' ? emptySet : yield* nodeOf(valueType, value);
    if (value === null || isEmptyMap(value) || !isNamedField(type, key)) node = node === undefined ? emptySet : withSelf(node);
    if (node !== undefined) (result ??= {})[`f:${key}`] = node;
  }
  return result && (yield* sortedInParts(result));
}

const isEmptyMap = (value: Json): boolean => typeof value === 'object' && !Array.isArray(value) && Object.keys(value!).length === 0;

function* itemsOf(type: ListType, list: Json[]): Parts<FieldSet | undefined> {
  let result: { [element: string]: FieldSet } | undefined;
  for (const item of list) {
    if (endsPart()) yield;
    const element = itemElement(type, item);
    result ??= {};
    if (element in result) {
      // A duplicate key: its writer owns the item as a whole.
      result[element] = emptySet;
      continue;
    }
    const node = yield* nodeOf(itemType(type), item);
    result[element] = node === undefined ? emptySet : withSelf(node);
  }
  return result && (yield* sortedInParts(result));
}

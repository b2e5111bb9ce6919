import { isObject, type Json, type JsonObject } from '../json.ts';
import type { Type } from '../schema/type.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { cloneJsonInParts, fieldTypeOrDeduced, isNamedField, itemType, setOwn } from './shape.ts';
import { isBuiltIn } from './zero.ts';

/**
 * A copy of apply's result without the nulls left by emptied maps and lists. Built-in kinds keep nulls only as map values, which decode as
 * the zero value of their type. Custom resources keep nulls of scalars and of fields that their schema does not name.
 */
export function settle(type: Type, value: JsonObject): Parts<JsonObject> {
  return settleMap(type, value, isBuiltIn(type));
}

function* settleValue(type: Type, value: Json, builtIn: boolean): Parts<Json> {
  if (type.kind === 'any') return yield* cloneJsonInParts(value);
  if (isObject(value)) return yield* settleMap(type, value, builtIn);
  if (!Array.isArray(value)) return value;
  const result: Json[] = [];
  for (const item of value) {
    if (endsPart()) yield;
    result.push(isScalar(item) ? item : yield* settleValue(itemType(type), item, builtIn));
  }
  return result;
}

const isScalar = (value: Json): boolean => typeof value !== 'object' || value === null;

function* settleMap(type: Type, map: JsonObject, builtIn: boolean): Parts<JsonObject> {
  const result: JsonObject = {};
  for (const key of Object.keys(map)) {
    if (endsPart()) yield;
    const valueType = fieldTypeOrDeduced(type, key);
    const value = map[key]!;
    if (
      value === null &&
      (valueType.kind === 'scalar' ? builtIn && type.kind !== 'map' : valueType.kind !== 'any' || isNamedField(type, key))
    )
      continue;
    setOwn(result, key, isScalar(value) ? value : yield* settleValue(valueType, value, builtIn));
  }
  return result;
}

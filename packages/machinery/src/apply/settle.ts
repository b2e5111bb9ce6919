import { isObject, type Json, type JsonObject } from '../json.ts';
import type { Type } from '../schema/type.ts';
import { cloneJson, fieldTypeOrDeduced, isNamedField, itemType, setOwn } from './shape.ts';
import { isBuiltIn } from './zero.ts';

/**
 * A copy of apply's result without the nulls left by emptied maps and lists. Built-in kinds keep nulls only as map values, which decode as
 * the zero value of their type. Custom resources keep nulls of scalars and of fields that their schema does not name.
 */
export function settle(type: Type, value: JsonObject): JsonObject {
  return settleMap(type, value, isBuiltIn(type));
}

function settleValue(type: Type, value: Json, builtIn: boolean): Json {
  if (type.kind === 'any') return cloneJson(value);
  if (Array.isArray(value)) return value.map((item) => settleValue(itemType(type), item, builtIn));
  return isObject(value) ? settleMap(type, value, builtIn) : value;
}

function settleMap(type: Type, map: JsonObject, builtIn: boolean): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(map)) {
    const valueType = fieldTypeOrDeduced(type, key);
    const value = map[key]!;
    if (
      value === null &&
      (valueType.kind === 'scalar' ? builtIn && type.kind !== 'map' : valueType.kind !== 'any' || isNamedField(type, key))
    )
      continue;
    setOwn(result, key, settleValue(valueType, value, builtIn));
  }
  return result;
}

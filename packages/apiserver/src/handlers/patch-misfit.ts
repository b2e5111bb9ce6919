import { goTypeName, isObject, type Json, type ScalarType, type Type } from '@capstan/machinery';

/**
 * Strategic patches are put into the object without a round trip through JSON, so Go reports type errors in other words.
 * Undefined if everything fits, or if a type decodes JSON itself.
 */
export function misfit(value: Json | undefined, type: Type): string | undefined {
  if (value === undefined || value === null) return undefined;
  switch (type.kind) {
    case 'object': {
      if (!isObject(value)) return `cannot restore struct from: ${goKind(value)}`;
      for (const [name, field] of type.fields) {
        const found = Object.hasOwn(value, name) ? misfit(value[name], field.type) : undefined;
        if (found !== undefined) return found;
      }
      return undefined;
    }
    case 'map':
      if (!isObject(value)) return `cannot restore map from ${goKind(value)}`;
      return first(Object.values(value), type.values);
    case 'list':
      if (!Array.isArray(value)) return `cannot restore slice from ${goKind(value)}`;
      return first(value, type.items);
    case 'scalar':
      return scalarMisfit(value, type);
    case 'any':
      return undefined;
  }
}

function first(values: readonly Json[], type: Type): string | undefined {
  for (const value of values) {
    const found = misfit(value, type);
    if (found !== undefined) return found;
  }
  return undefined;
}

function scalarMisfit(value: Json, type: ScalarType): string | undefined {
  const given = goKind(value);
  const isNumber = given === 'int64' || given === 'float64';
  switch (type.scalar) {
    case 'string':
      if (given === 'string') return undefined;
      // Go can convert integers to strings, but not here.
      return given === 'int64' ? `cannot convert int64 to ${goTypeName(type)}` : 'unrecognized type: string';
    case 'bytes':
      return given === 'string' ? undefined : `cannot restore slice from ${given}`;
    case 'bool':
      return given === 'bool' ? undefined : 'unrecognized type: bool';
    case 'int32':
    case 'int64':
      if (given === 'float64' && !Number.isInteger(value)) return `cannot convert float64 to ${goTypeName(type)}`;
      return isNumber ? undefined : `unrecognized type: ${type.scalar}`;
    case 'double':
      return isNumber ? undefined : 'unrecognized type: float64';
    default:
      return undefined;
  }
}

function goKind(value: Json): string {
  if (Array.isArray(value)) return 'slice';
  if (isObject(value)) return 'map';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64';
}

/** The error of types that decode JSON themselves: they do not know the field they are in. */
export function unreadable(why: string): string {
  if (why.startsWith('illegal base64')) return `error decoding from json: ${why}`;
  return why.replace(/into Go struct field \S+ of type/, 'into Go value of type');
}

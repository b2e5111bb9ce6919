import type { Json } from '@capstan/machinery';
import { parseFormatDuration } from '../value/duration.ts';
import { JsonList, JsonMap, JsonStruct } from '../value/json.ts';
import { parseDateTime } from '../value/timestamp.ts';
import { CelError, Double, Optional, Uint, type Value } from '../value/value.ts';
import type { Declaration, ObjectField } from './declaration.ts';
import * as types from './type.ts';

/** The JSON type of a value, for messages. */
export function jsonKind(json: Json): string {
  if (json === null) return 'null';
  if (Array.isArray(json)) return 'array';
  if (typeof json === 'bigint') return 'int64';
  return typeof json === 'number' ? (Number.isInteger(json) ? 'int64' : 'float64') : typeof json;
}

function scalar(type: types.Type, minimumBytes: number, read: (json: Json) => Value): Declaration {
  return { type, read, maximumSize: 0, minimumBytes };
}

function expected(kind: string, json: Json): CelError {
  return new CelError(`invalid data, expected ${kind}, got ${jsonKind(json)}`);
}

/** Converts an integer from JSON.parse, or a BigInt if it was parsed without loss. A number beyond 2^53 is used as is. */
export function readInteger(json: Json): Value {
  if (Number.isSafeInteger(json) || typeof json === 'bigint') return json as number;
  if (typeof json === 'number' && Number.isInteger(json) && Math.abs(json) < 2 ** 63) return BigInt(json);
  return expected('int', json);
}

export const bool = scalar(types.BOOL, 4, (json) => (typeof json === 'boolean' ? json : expected('bool', json)));
export const int = scalar(types.INT, 1, readInteger);
export const uint = scalar(types.UINT, 1, (json) =>
  Number.isSafeInteger(json) && (json as number) >= 0 ? new Uint(BigInt(json as number)) : expected('uint', json),
);
export const double = scalar(types.DOUBLE, 1, (json) => (typeof json === 'number' ? new Double(json) : expected('float', json)));
export const string = scalar(types.STRING, 2, (json) => (typeof json === 'string' ? json : expected('string', json)));
export const bytes = scalar(types.BYTES, 2, (json) =>
  typeof json === 'string' ? Uint8Array.from(Buffer.from(json, 'base64')) : expected('string', json),
);
export const duration = scalar(types.DURATION, 3, (json) => {
  if (typeof json !== 'string') return expected('string', json);
  return parseFormatDuration(json) ?? new CelError(`Invalid duration ${json}: unable to parse ${json} as duration`);
});
export const timestamp = scalar(types.TIMESTAMP, 12, (json) => {
  if (typeof json !== 'string') return expected('string', json);
  return parseDateTime(json) ?? new CelError(`Invalid date-time formatted string ${json}: unable to parse ${json} as date-time`);
});
/** A value whose type is known only at run time: JSON of any shape. */
export const dyn: Declaration = scalar(types.DYN, 1, readDynamic);

function readDynamic(json: Json): Value {
  if (json === null || typeof json !== 'object') {
    if (typeof json !== 'number') return json;
    return Number.isInteger(json) && Math.abs(json) < 2 ** 63 ? readInteger(json) : new Double(json);
  }
  if (Array.isArray(json)) return new JsonList(json, dyn);
  // Values of ours in place of JSON stay as they are.
  return isPlain(json) ? new JsonMap(json, dyn) : (json as unknown as Value);
}

function isPlain(json: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(json);
  return prototype === Object.prototype || prototype === null;
}

export function list(element: Declaration, maximumSize = Number.MAX_SAFE_INTEGER): Declaration {
  return {
    type: types.listOf(element.type),
    read: (json) => (Array.isArray(json) ? new JsonList(json, element) : expected('array', json)),
    maximumSize,
    minimumBytes: 2,
    element,
  };
}

export function map(element: Declaration, maximumSize = Number.MAX_SAFE_INTEGER): Declaration {
  return {
    type: types.mapOf(types.STRING, element.type),
    read: (json) =>
      json !== null && typeof json === 'object' && !Array.isArray(json) ? new JsonMap(json, element) : expected('object', json),
    maximumSize,
    minimumBytes: 2,
    key: string,
    element,
  };
}

/** A named object with declared fields, such as the request in an admission policy. */
export function object(name: string, properties: Readonly<Record<string, Declaration>>): Declaration {
  const fields = new Map<string, ObjectField>();
  for (const [property, declaration] of Object.entries(properties)) fields.set(property, { property, declaration });
  return objectWith(name, fields);
}

/** The same with fields that are added later: expressions can use those that exist when they are compiled. Their values may be computed when they are read. */
export function growingObject(name: string): { readonly declaration: Declaration; add(property: string, declaration: Declaration): void } {
  const fields = new Map<string, ObjectField>();
  return {
    declaration: { ...objectWith(name, fields), isLazy: true },
    add: (property, declaration) => void fields.set(property, { property, declaration }),
  };
}

function objectWith(name: string, fields: ReadonlyMap<string, ObjectField>): Declaration {
  return {
    type: types.objectOf(name, fields),
    read: (json) =>
      json !== null && typeof json === 'object' && !Array.isArray(json) ? new JsonStruct(json, fields) : expected('object', json),
    maximumSize: 0,
    minimumBytes: 2,
    fields,
  };
}

/** A value that may be missing: bind `null` for none. */
export function optional(inner: Declaration): Declaration {
  return {
    ...inner,
    type: types.optionalOf(inner.type),
    read: (json) => (json === null ? Optional.none : new Optional(inner.read(json))),
  };
}

/** A variable bound to a value of ours instead of JSON, such as an authorizer. */
export function opaque(type: types.Type): Declaration {
  return scalar(type, 1, (json) => json as unknown as Value);
}

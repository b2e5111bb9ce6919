import type { Json, JsonObject } from '../json.ts';

/** The value of a key in a tenant's object, where `constructor` is a key like any other. */
export function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key. Plain assignment to `__proto__` would change the prototype instead. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** A deep copy. */
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyJson(value[key]!));
  return copy;
}

/** The fields that every resource has, whatever its schema says. */
export function isMetaField(key: string): boolean {
  return key === 'apiVersion' || key === 'kind' || key === 'metadata';
}

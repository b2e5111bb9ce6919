import type { Json, JsonObject } from '../json.ts';

/** What stands under a key of a tenant's object: `constructor` is a key like any other. */
export function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key; assigning to `__proto__` would change the prototype instead. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** A copy that shares nothing. */
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

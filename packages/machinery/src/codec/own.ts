import type { Json, JsonObject } from '../json.ts';

/** Assigning to `__proto__` would change the prototype instead. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

import { setOwn } from '../apply/shape.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';

/** In a map or list item of a strategic merge patch: delete or replace instead of merging. */
export const directiveKey = '$patch';

/** Strips nulls and directives from a new value; undefined if it is only a directive. */
export function plain(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.map(plain).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directiveKey)) return undefined;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const kept = value[key] === null ? undefined : plain(value[key]!);
    if (kept !== undefined) setOwn(result, key, kept);
  }
  return result;
}

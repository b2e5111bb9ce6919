import { cloneJsonInParts, own, setOwn } from '../apply/shape.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import * as status from '../status/status.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { cannotUnmarshal, type PatchReading, parsePatch, partsWithinStack, patchedObject } from './errors.ts';

const badPatch = 'Invalid JSON Patch';

/**
 * JSON merge patch (RFC 7396), in parts. Does not change the object. Throws a StatusError: 400 for a patch that is not an object, 422 if the result
 * is not an object.
 */
export function* mergePatch(object: JsonObject, text: string, { fieldValidation = 'Warn' }: PatchReading = {}): Parts<JsonObject> {
  const ignored = fieldValidation === 'Ignore';
  const patch = yield* parsePatch(text, (message) => (ignored ? badPatch : `error decoding patch: ${message}`));
  if (isObject(patch)) return yield* partsWithinStack(mergeMaps(object, patch));
  if (patch === null) throw status.badRequest(badPatch);
  if (!ignored) throw status.badRequest(`error decoding patch: ${cannotUnmarshal(patch, 'map[string]interface {}')}`);
  if (Array.isArray(patch)) return patchedObject(patch);
  throw status.badRequest(badPatch);
}

function* mergeMaps(object: JsonObject, patch: JsonObject): Parts<JsonObject> {
  const result: JsonObject = {};
  for (const key of Object.keys(object)) {
    if (endsPart()) yield;
    const value = object[key]!;
    const change = own(patch, key);
    if (change === null) continue;
    if (change === undefined) setOwn(result, key, typeof value === 'object' ? yield* cloneJsonInParts(value) : value);
    else setOwn(result, key, isObject(value) && isObject(change) ? yield* mergeMaps(value, change) : withoutNulls(change));
  }
  for (const key of Object.keys(patch)) {
    if (endsPart()) yield;
    const change = patch[key]!;
    if (change !== null && !Object.hasOwn(object, key)) setOwn(result, key, withoutNulls(change));
  }
  return result;
}

/** A null removes a member, so nothing is added if there was none. In lists it is a value. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(result, key, withoutNulls(value[key]!));
  return result;
}

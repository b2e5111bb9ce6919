import { printValue } from '../apply/go-text.ts';
import { cloneJsonInParts, own, setOwn } from '../apply/shape.ts';
import { isBuiltIn } from '../apply/zero.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { PatchRule, Type } from '../schema/type.ts';
import * as status from '../status/status.ts';
import type { Parts } from '../work/parts.ts';
import { directiveKey, plain } from './directives.ts';
import { cannotUnmarshal, parsePatch, partsWithinStack, serverError, withinStack } from './errors.ts';
import { mergeItems, orderedItems } from './strategic-lists.ts';

const retainKey = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList';
const orderPrefix = '$setElementOrder';

/**
 * Kubernetes' strategic merge patch, by the patch rules of the type. Does not change the object. Throws a StatusError: 400 for a patch that
 * is malformed, misuses a directive or is for a custom resource; 422 for lists of lists; 500 (as Kubernetes does) for an item without its
 * merge key and other mistakes.
 */
export function* strategicMergePatch(object: JsonObject, text: string, type: Type): Parts<JsonObject> {
  const patch = yield* parsePatch(text, (message) => message);
  if (patch !== null && !isObject(patch)) throw status.badRequest(cannotUnmarshal(patch, 'map[string]interface {}'));
  if (!isBuiltIn(type)) throw status.badRequest('strategic merge patch format is not supported');
  yield;
  const result = yield* partsWithinStack(cloneJsonInParts(object));
  yield;
  return withinStack(() => mergeMap(result, patch ?? {}, type));
}

/** Merges the patch into the map. Changes the map. */
function mergeMap(original: JsonObject, patch: JsonObject, type: Type): JsonObject {
  const directive = own(patch, directiveKey);
  if (directive !== undefined) return mapByDirective(directive, patch);
  const changes = applyRetainKeys(original, patch);
  const ordered = applyOrders(original, changes, type);
  for (const key of Object.keys(changes)) {
    if (key.startsWith(orderPrefix) || ordered.has(key)) continue;
    const deletes = key.startsWith(deletePrefix);
    mergeField(original, deletes ? fieldOf(key, deletePrefix, 'invalid patch format of primitive list') : key, {
      change: changes[key]!,
      deletes,
      type,
    });
  }
  return original;
}

function mapByDirective(directive: Json, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {};
  if (directive === 'replace') return without(patch, directiveKey);
  throw serverError(`unknown patch type: ${printValue(directive)} in map: ${printValue(patch)}`);
}

function without(map: JsonObject, left: string): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(map)) if (key !== left) setOwn(result, key, map[key]!);
  return result;
}

/** With `$retainKeys`, the patch names all the keys to keep. */
function applyRetainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  const retained = own(patch, retainKey);
  if (retained === undefined) return patch;
  const wrong = 'invalid patch format of retainKeys';
  if (!Array.isArray(retained)) throw status.badRequest(wrong);
  const kept: ReadonlySet<Json> = new Set(retained);
  const changes = without(patch, retainKey);
  for (const key of Object.keys(changes)) {
    if (changes[key] === null || key.startsWith(deletePrefix) || key.startsWith(orderPrefix)) continue;
    if (!kept.has(key)) throw status.badRequest(wrong);
  }
  for (const key of Object.keys(original)) if (!kept.has(key)) delete original[key];
  return changes;
}

/** Merges the lists that come with an order, and returns their names. */
function applyOrders(original: JsonObject, patch: JsonObject, type: Type): Set<string> {
  const done = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(orderPrefix)) continue;
    const order = listOrFail(patch[key]!);
    const field = fieldOf(key, orderPrefix, 'invalid patch format of setElementOrder list');
    const live = own(original, field);
    const change = own(patch, field);
    const { rule, type: listType } = lookup(type, field);
    const items = orderedItems({
      live: live === undefined ? undefined : listOrFail(live),
      change: change === undefined ? undefined : listOrFail(change),
      order,
      list: { rule, mergeItem: itemMerger(listType) },
    });
    if (items === undefined) continue;
    setOwn(original, field, items);
    done.add(field);
  }
  return done;
}

function listOrFail(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  throw serverError(`expected a []interface {}, but received a ${printType(value)}`);
}

function printType(value: Json): string {
  if (value === null) return '%!s(<nil>)';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return isObject(value) ? 'map[string]interface {}' : typeof value === 'boolean' ? 'bool' : 'string';
}

function fieldOf(key: string, prefix: string, wrong: string): string {
  if (key[prefix.length] !== '/') throw status.badRequest(wrong);
  return key.slice(prefix.length + 1);
}

interface FieldChange {
  readonly change: Json;
  /** The change lists values to delete from a list of plain values. */
  readonly deletes: boolean;
  readonly type: Type;
}

function mergeField(original: JsonObject, key: string, { change, deletes, type }: FieldChange): void {
  if (change === null) {
    delete original[key];
    return;
  }
  const live = own(original, key);
  if (isObject(live) && isObject(change)) {
    setOwn(original, key, mergeMap(live, change, lookup(type, key).type));
  } else if (Array.isArray(live) && Array.isArray(change)) {
    const { rule, type: listType } = lookup(type, key);
    setOwn(original, key, rule.merge || deletes ? mergeItems(live, change, { rule, mergeItem: itemMerger(listType), deletes }) : change);
  } else if (!deletes) {
    const value = plain(change);
    if (value === undefined) delete original[key];
    else setOwn(original, key, value);
  }
}

const noRule: PatchRule = { merge: false, retainKeys: false };

function lookup(type: Type, key: string): { readonly type: Type; readonly rule: PatchRule } {
  if (type.kind !== 'object') {
    const kind = type.kind === 'map' ? 'map' : type.kind === 'list' ? 'slice' : 'string';
    throw serverError(`merging an object in json but data type is not struct, instead is: ${kind}`);
  }
  const field = type.fields.get(key);
  if (field !== undefined) return { type: field.type, rule: field.patch ?? noRule };
  const name = type.name.slice(type.name.lastIndexOf('.') + 1);
  throw serverError(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`);
}

function itemMerger(list: Type): (live: JsonObject, change: JsonObject) => JsonObject {
  return (live, change) => mergeMap(live, change, list.kind === 'list' ? list.items : list);
}

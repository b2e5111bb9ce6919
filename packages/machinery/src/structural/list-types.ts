import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { contains } from './contains.ts';
import { own, setOwn } from './own.ts';
import type { Schema } from './schema.ts';

const hasKeyedLists = contains((schema) => schema.listType === 'set' || schema.listType === 'map');

/** Sets hold every item once, and keyed lists every key. */
export function validateListTypes(object: JsonObject, schema: Schema): FieldError[] {
  const errors: FieldError[] = [];
  visit(object, schema, { at: FieldPath.of(), errors });
  return errors;
}

interface Place {
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

function visit(value: Json, schema: Schema, { at, errors }: Place): void {
  if (typeof value !== 'object' || value === null || !hasKeyedLists(schema)) return;
  if (Array.isArray(value)) {
    if (schema.listType === 'set') for (const index of repeated(value)) errors.push(fieldError.duplicate(at.index(index), value[index]));
    if (schema.listType === 'map') checkKeys(value, schema, { at, errors });
    if (schema.items !== undefined) for (const [index, item] of value.entries()) visit(item, schema.items, { at: at.index(index), errors });
    return;
  }
  for (const key of Object.keys(value)) {
    const property = schema.properties.get(key);
    if (property !== undefined) visit(value[key]!, property, { at: at.child(key), errors });
    else if (schema.additional?.schema !== undefined) visit(value[key]!, schema.additional.schema, { at: at.key(key), errors });
  }
}

function checkKeys(list: readonly Json[], { listKeys }: Schema, { at, errors }: Place): void {
  for (const [index, item] of list.entries()) {
    if (item === null || isObject(item)) continue;
    errors.push(fieldError.invalid(at.index(index), item, 'must be an object for an array of list-type map'));
    return;
  }
  if (list.length <= 1) return;
  const keys = list.map((item) => keyOf(item, listKeys));
  for (const index of repeated(keys)) errors.push(fieldError.duplicate(at.index(index), keys[index]));
}

function keyOf(item: Json, names: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (!isObject(item)) return key;
  // In the order in which Go writes a map.
  for (const name of [...names].sort()) {
    const value = own(item, name);
    if (value !== undefined) setOwn(key, name, value);
  }
  return key;
}

/** Where something stands for the second time; a third is not reported again. */
function repeated(list: readonly Json[]): number[] {
  const seen = new Map<string, number>();
  const found: number[] = [];
  for (const [index, item] of list.entries()) {
    const text = JSON.stringify(item);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    if (times === 2) found.push(index);
  }
  return found;
}

import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { contains } from './contains.ts';
import { own, setOwn } from './own.ts';
import type { Schema } from './schema.ts';

const hasKeyedLists = contains((schema) => schema.listType === 'set' || schema.listType === 'map');

/** A set must hold each item once, and a keyed list each key once. */
export function validateListTypes(object: JsonObject, schema: Schema): FieldError[] {
  const errors: FieldError[] = [];
  // Almost no list has duplicates: paths and messages are only built if there may be some.
  if (!mayRepeat(object, schema)) return errors;
  visit(object, schema, { at: FieldPath.of(), errors });
  return errors;
}

/** False if nothing inside is a duplicate; true if something is, or if only the full check can tell. */
function mayRepeat(value: Json, schema: Schema): boolean {
  if (typeof value !== 'object' || value === null || !hasKeyedLists(schema)) return false;
  if (Array.isArray(value)) {
    if (schema.listType === 'set' && !areDifferent(value)) return true;
    if (schema.listType === 'map' && !haveDifferentKeys(value, schema.listKeys)) return true;
    if (schema.items !== undefined) for (const item of value) if (mayRepeat(item, schema.items)) return true;
    return false;
  }
  for (const key in value) {
    const inner = schema.properties.get(key) ?? schema.additional?.schema;
    if (inner !== undefined && mayRepeat(value[key]!, inner)) return true;
  }
  return false;
}

/** Up to this length, comparing items pairwise is cheaper than building a table. */
const mostCompared = 16;

/** With more keys than this, it is not. */
const mostComparedKeys = 4;

function areDifferent(list: readonly Json[]): boolean {
  if (list.length > mostCompared) return false;
  for (let index = 0; index < list.length; index++) {
    const item = list[index]!;
    if (typeof item === 'object' || list.indexOf(item) !== index) return false;
  }
  return true;
}

function haveDifferentKeys(list: readonly Json[], names: readonly string[]): boolean {
  if (list.length > mostCompared || names.length > mostComparedKeys) return false;
  for (let index = 0; index < list.length; index++) {
    const item = list[index]!;
    if (!isObject(item)) return false;
    for (let before = 0; before < index; before++) if (!differInKey(item, list[before] as JsonObject, names)) return false;
  }
  return true;
}

function differInKey(one: JsonObject, other: JsonObject, names: readonly string[]): boolean {
  for (const name of names) {
    const value = own(one, name);
    if (value !== own(other, name) && typeof value !== 'object' && typeof own(other, name) !== 'object') return true;
  }
  return false;
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
  // Go prints maps in key order.
  const names = [...listKeys].sort();
  const keys = list.map((item) => keyOf(item, names));
  for (const index of repeated(keys)) errors.push(fieldError.duplicate(at.index(index), keys[index]));
}

function keyOf(item: Json, names: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (!isObject(item)) return key;
  for (const name of names) {
    const value = own(item, name);
    if (value !== undefined) setOwn(key, name, value);
  }
  return key;
}

/** The indexes of second occurrences; a third is not reported again. */
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

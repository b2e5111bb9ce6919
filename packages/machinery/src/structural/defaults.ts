import type { Json, JsonObject } from '../json.ts';
import { contains, innerSchemas } from './contains.ts';
import { copyJson, own, setOwn } from './own.ts';
import type { Schema } from './schema.ts';

/** True where there is a default in or below the schema: where there is none, there is nothing to do. */
export const hasDefaults = contains((schema) => schema.default !== undefined);

/** What there is to do for the fields of one schema, worked out once. */
interface Plan {
  readonly fills: readonly { readonly name: string; readonly value: Json; readonly nullable: boolean }[];
  readonly nested: readonly { readonly name: string; readonly schema: Schema }[];
}

const plans = new WeakMap<Schema, Plan>();

function planOf(schema: Schema): Plan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    const properties = [...schema.properties];
    plan = {
      fills: properties
        .filter(([, property]) => property.default !== undefined)
        .map(([name, property]) => ({ name, value: property.default!, nullable: property.nullable })),
      nested: properties
        .filter(([, property]) => [...innerSchemas(property)].some(hasDefaults))
        .map(([name, property]) => ({ name, schema: property })),
    };
    plans.set(schema, plan);
  }
  return plan;
}

/** Fills in the schema's defaults where a field is absent, or null although it may not be. Changes the value. */
export function applyDefaults(value: Json, schema: Schema): void {
  if (typeof value !== 'object' || value === null || !hasDefaults(schema)) return;
  if (Array.isArray(value)) defaultItems(value, schema.items);
  else defaultFields(value, schema);
}

function defaultFields(object: JsonObject, schema: Schema): void {
  const { fills, nested } = planOf(schema);
  for (const { name, value, nullable } of fills) {
    const present = own(object, name);
    if (present === undefined || (present === null && !nullable)) setOwn(object, name, copyJson(value));
  }
  for (const { name, schema: property } of nested) {
    const present = own(object, name);
    if (typeof present === 'object' && present !== null) applyDefaults(present, property);
  }
  const additional = schema.additional?.schema;
  if (additional === undefined || !hasDefaults(additional)) return;
  for (const key of Object.keys(object)) {
    if (schema.properties.has(key)) continue;
    if (object[key] === null && !additional.nullable && additional.default !== undefined) setOwn(object, key, copyJson(additional.default));
    applyDefaults(object[key]!, additional);
  }
}

function defaultItems(list: Json[], items: Schema | undefined): void {
  if (items === undefined) return;
  for (let index = 0; index < list.length; index++) {
    if (list[index] === null && !items.nullable && items.default !== undefined) list[index] = copyJson(items.default);
    applyDefaults(list[index]!, items);
  }
}

/** Drops nulls where there may be none and no default stands in for them. Changes the value. */
export function dropNulls(value: Json, schema: Schema | undefined): void {
  if (typeof value !== 'object' || value === null || schema === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') dropNulls(item, schema.items);
    return;
  }
  for (const key in value) {
    const field = value[key]!;
    if (typeof field !== 'object') continue;
    const property = schema.properties.get(key) ?? schema.additional?.schema;
    if (field !== null) dropNulls(field, property);
    else if (property !== undefined && !property.nullable && property.default === undefined) delete value[key];
  }
}

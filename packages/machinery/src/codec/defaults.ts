import type { Json, JsonObject } from '../json.ts';
import type { Field, ObjectType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { zeroScalar } from './scalar.ts';

/** The work for objects of a type, computed once: most types need little or none. */
interface Plan {
  /** Fields that get a value if absent. */
  readonly fills: readonly { readonly name: string; readonly value: Json }[];
  /** Fields that contain something to fill in. */
  readonly nested: readonly Field[];
}

const plans = new WeakMap<ObjectType, Plan>();

/**
 * Fills in absent fields: the schema's defaults, and the zero values that Kubernetes always prints (`status: {}`). As in Kubernetes, a
 * default applies only if its parent object is present; an object that is always printed is always present. Changes the object.
 */
export function applySchemaDefaults(object: JsonObject, type: ObjectType): void {
  whole(applySchemaDefaultsInParts(object, type));
}

/** The same in parts: a list may have tens of thousands of items. */
export function* applySchemaDefaultsInParts(object: JsonObject, type: ObjectType): Parts<void> {
  const later: Rest[] = [];
  fillFields(object, type, later);
  for (let rest = later.pop(); rest !== undefined; rest = later.pop()) {
    yield;
    fillItems(rest, later);
  }
}

/** The items of a list or map from this one on. */
interface Rest {
  readonly items: readonly Json[] | JsonObject;
  /** Of a map only. */
  readonly keys?: readonly string[];
  readonly from: number;
  readonly type: Type;
}

function fillFields(object: JsonObject, type: ObjectType, later: Rest[]): void {
  const { fills, nested } = planOf(type);
  for (const { name, value } of fills)
    if (object[name] === undefined) object[name] = typeof value === 'object' && value !== null ? structuredClone(value) : value;
  for (const { name, type: inner } of nested) {
    const value = object[name];
    if (typeof value === 'object' && value !== null) fillInside(value, inner, later);
  }
}

/** Leaves for later what would take this part too long: no item depends on others. */
function fillItems(rest: Rest, later: Rest[]): void {
  const { items, keys, type } = rest;
  const { length } = (keys ?? items) as { readonly length: number };
  for (let index = rest.from; index < length; index++) {
    if (endsPart()) {
      later.push({ ...rest, from: index });
      return;
    }
    fillInside((items as JsonObject)[keys?.[index] ?? index]!, type, later);
  }
}

function fillInside(value: Json, type: Type, later: Rest[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (type.kind === 'object') {
    if (!Array.isArray(value)) fillFields(value, type, later);
  } else if (type.kind === 'list') {
    if (Array.isArray(value)) fillItems({ items: value, from: 0, type: type.items }, later);
  } else if (type.kind === 'map' && !Array.isArray(value)) {
    fillItems({ items: value, keys: Object.keys(value), from: 0, type: type.values }, later);
  }
}

function planOf(type: ObjectType): Plan {
  let plan = plans.get(type);
  if (plan === undefined) {
    const fills: { name: string; value: Json }[] = [];
    const nested: Field[] = [];
    for (const field of type.fields.values()) {
      const value = fillOf(field);
      if (value !== undefined) fills.push({ name: field.name, value });
      if (hasWork(field.type, new Set())) nested.push(field);
    }
    plans.set(type, (plan = { fills, nested }));
  }
  return plan;
}

function fillOf({ default: fallback, empty, type }: Field): Json | undefined {
  if (fallback !== undefined) return fallback;
  if (empty === 'null') return null;
  if (empty !== 'printed') return undefined;
  return type.kind === 'scalar' ? zeroScalar(type.scalar) : {};
}

function hasWork(type: Type, seen: Set<ObjectType>): boolean {
  switch (type.kind) {
    case 'scalar':
    case 'any':
      return false;
    case 'list':
      return hasWork(type.items, seen);
    case 'map':
      return hasWork(type.values, seen);
    case 'object':
      if (seen.has(type)) return false;
      seen.add(type);
      return [...type.fields.values()].some((field) => fillOf(field) !== undefined || hasWork(field.type, seen));
  }
}

import type { Json, JsonObject } from '../json.ts';
import { contains, innerSchemas } from './contains.ts';
import { knownDefault, knownMetadata } from './embedded.ts';
import { copyJson, own, setOwn } from './own.ts';
import type { Schema } from './schema.ts';

/** Whether the schema or any schema inside it has a default. */
export const hasDefaults = contains((schema) => schema.default !== undefined);

/** The work for the fields of one schema, computed once. */
interface Plan {
  readonly fills: readonly (Fill & { readonly name: string; readonly nullable: boolean })[];
  /** The properties that have defaults inside. */
  readonly nested: ReadonlyMap<string, Schema>;
}

interface Fill {
  readonly value: Json;
  /** How much it adds to the size of an object. */
  readonly size: number;
}

const plans = new WeakMap<Schema, Plan>();

function planOf(schema: Schema): Plan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    const properties = [...schema.properties].map(([name, property]) => [name, knownMetadata(schema, name, property)] as const);
    plan = {
      fills: properties
        .filter(([, property]) => property.default !== undefined)
        .map(([name, property]) => {
          const value = knownDefault(schema, name, property.default!);
          return { name, nullable: property.nullable, value, size: name.length + sizeOf(value) };
        }),
      nested: new Map(properties.filter(([, property]) => [...innerSchemas(property)].some(hasDefaults))),
    };
    plans.set(schema, plan);
  }
  return plan;
}

const sizeOf = (value: Json): number => JSON.stringify(value).length + 4;

/** The most that defaults may add to one object: a few characters can expand to a large default. */
const mostAdded = 3 << 20;

/** How much defaults may still add to an object. */
class Room {
  #left = mostAdded;

  get isOver(): boolean {
    return this.#left < 0;
  }

  /** A copy of the default; undefined if there is no room for it. */
  take({ value, size }: Fill): Json | undefined {
    this.#left -= size;
    return this.isOver ? undefined : copyJson(value);
  }
}

/**
 * Fills in the schema's defaults where a field is absent, or null but not nullable. Changes the value. Returns false if the defaults exceed
 * the size limit; some are then missing.
 */
export function applyDefaults(value: Json, schema: Schema): boolean {
  const room = new Room();
  fill(value, schema, room);
  return !room.isOver;
}

function fill(value: Json, schema: Schema, room: Room): void {
  if (typeof value !== 'object' || value === null || room.isOver || !hasDefaults(schema)) return;
  if (Array.isArray(value)) defaultItems(value, schema.items, room);
  else defaultFields(value, schema, room);
}

function defaultFields(object: JsonObject, schema: Schema, room: Room): void {
  const { fills, nested } = planOf(schema);
  for (const missing of fills) {
    if (room.isOver) return;
    const present = own(object, missing.name);
    if (present !== undefined && (present !== null || missing.nullable)) continue;
    const value = room.take(missing);
    if (value !== undefined) setOwn(object, missing.name, value);
  }
  // Looks at what the object has: a schema may have thousands of properties, and a list thousands of empty objects.
  if (nested.size > 0)
    for (const name in object) {
      const present = object[name];
      const property = typeof present === 'object' && present !== null ? nested.get(name) : undefined;
      if (property !== undefined) fill(present!, property, room);
    }
  const additional = schema.additional?.schema;
  if (additional === undefined || !hasDefaults(additional)) return;
  const standIn = standInOf(additional);
  for (const key of Object.keys(object)) {
    if (schema.properties.has(key)) continue;
    if (object[key] === null && standIn !== undefined) setOwn(object, key, room.take(standIn) ?? null);
    fill(object[key]!, additional, room);
  }
}

function defaultItems(list: Json[], items: Schema | undefined, room: Room): void {
  if (items === undefined) return;
  const standIn = standInOf(items);
  for (let index = 0; index < list.length; index++) {
    if (list[index] === null && standIn !== undefined) list[index] = room.take(standIn) ?? null;
    fill(list[index]!, items, room);
  }
}

const standIns = new WeakMap<Schema, Fill>();

/** The default that replaces a null where null is not allowed. */
function standInOf(schema: Schema): Fill | undefined {
  const { nullable, default: value } = schema;
  if (nullable || value === undefined) return undefined;
  let standIn = standIns.get(schema);
  if (standIn === undefined) standIns.set(schema, (standIn = { value, size: sizeOf(value) }));
  return standIn;
}

/** Drops nulls that are not allowed and have no default. Changes the value. */
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

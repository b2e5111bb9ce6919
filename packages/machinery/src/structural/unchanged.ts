import { isObject, type Json, type JsonObject } from '../json.ts';
import { spend } from '../work/steps.ts';
import { own } from './own.ts';
import type { Schema } from './schema.ts';

/**
 * Whether a value equals the old one, as far as the schema allows a comparison: items of a keyed list are matched by their keys, and
 * unknown fields always count as changed.
 */
export function isUnchanged(value: Json, old: Json, schema: Schema): boolean {
  spend(1);
  if (value === null || old === null) return value === old;
  if (Array.isArray(value)) return Array.isArray(old) && value.length === old.length && sameItems(value, old, schema);
  if (!isObject(value)) return value === old;
  if (!isObject(old)) return false;
  const keys = Object.keys(value);
  if (keys.length !== Object.keys(old).length) return false;
  for (const key of keys) {
    const before = own(old, key);
    const property = schema.properties.get(key) ?? schema.additional?.schema;
    if (before === undefined || property === undefined || !isUnchanged(value[key]!, before, property)) return false;
  }
  return true;
}

function sameItems(value: Json[], old: Json[], schema: Schema): boolean {
  if (schema.listType !== 'map' || schema.items === undefined) return isSame(value, old);
  const correlated = oldItems(old, schema);
  return value.every((item) => {
    const before = correlated(item);
    return before !== undefined && isUnchanged(item, before, schema.items!);
  });
}

/** Deep equality. */
export function isSame(one: unknown, other: unknown): boolean {
  spend(1);
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  if (Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame((one as JsonObject)[key], (other as JsonObject)[key]));
}

/** Finds the old item with the same keys; undefined if several have them. */
export function oldItems(old: Json | undefined, schema: Schema): (item: Json) => Json | undefined {
  if (!Array.isArray(old) || schema.listType !== 'map') return nothing;
  const found = new Map<string, Json | undefined>();
  for (const item of old) {
    const key = keyText(item, schema.listKeys);
    if (key !== undefined) found.set(key, found.has(key) ? undefined : item);
  }
  return (item) => {
    const key = keyText(item, schema.listKeys);
    return key === undefined ? undefined : found.get(key);
  };
}

const nothing = (): undefined => undefined;

/** An item that lacks a key matches no other. */
function keyText(item: Json, keys: readonly string[]): string | undefined {
  if (!isObject(item) || keys.some((key) => own(item, key) === undefined)) return undefined;
  return keys.length === 1 ? JSON.stringify(own(item, keys[0]!)) : JSON.stringify(keys.map((key) => own(item, key)));
}

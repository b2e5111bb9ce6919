import type { Json, JsonObject } from '@capstan/machinery';
import { type Fields, isAbsent, itemsOf, maybeFields } from '@capstan/machinery';

/** Default values as data. The parts are applied in the order of these fields. */
export interface Defaults {
  /** Values for fields that are absent or an empty string. */
  readonly set?: Readonly<Record<string, Json>>;
  /** Values for absent fields; an empty string is an invalid value here, not an absent one. */
  readonly setOptional?: Readonly<Record<string, Json>>;
  /** Values for numbers that are absent or zero, for kinds that do not distinguish the two. */
  readonly setNumbers?: Readonly<Record<string, number>>;
  /** Defaults of nested objects, if present. */
  readonly within?: Readonly<Record<string, Defaults>>;
  /** Defaults of each item of a list. */
  readonly each?: Readonly<Record<string, Defaults>>;
  /** Defaults that depend on other fields. */
  readonly also?: (object: Fields) => void;
}

export function applyDefaults(object: Fields, defaults: Defaults): void {
  const { set, setOptional, setNumbers, within, each, also } = defaults;
  for (const name in set) {
    const value = object[name];
    if (isAbsent(value) || value === '') object[name] = copyOf(set[name]!);
  }
  for (const name in setOptional) if (isAbsent(object[name])) object[name] = copyOf(setOptional[name]!);
  for (const name in setNumbers) if (isAbsent(object[name]) || object[name] === 0) object[name] = setNumbers[name];
  for (const name in within) {
    const part = maybeFields(object[name]);
    if (part !== undefined) applyDefaults(part, within[name]!);
  }
  for (const name in each) for (const item of itemsOf(object[name])) if (maybeFields(item)) applyDefaults(item, each[name]!);
  also?.(object);
}

/** Copies a value, since tables are shared and objects are not. */
function copyOf(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: JsonObject = {};
  for (const key in value) copy[key] = copyOf(value[key]!);
  return copy;
}

/** The object at a field, created if missing. */
export function made(object: Fields, name: string): Fields {
  return maybeFields(object[name]) ?? ((object[name] = {}) as Fields);
}

import type { Json, JsonObject } from '@capstan/machinery';
import { type Fields, isAbsent, itemsOf, maybeFields } from '@capstan/machinery';

/** What is filled in where a client said nothing, as data. The parts apply in the order in which they stand here. */
export interface Defaults {
  /** Values for fields that are absent or an empty text. */
  readonly set?: Readonly<Record<string, Json>>;
  /** Values for fields that are absent; an empty text there is a wrong value, not none. */
  readonly setOptional?: Readonly<Record<string, Json>>;
  /** Values for numbers that are absent or zero: kinds that cannot tell one from the other. */
  readonly setNumbers?: Readonly<Record<string, number>>;
  /** Inside objects, where they are there. */
  readonly within?: Readonly<Record<string, Defaults>>;
  /** In each item of lists. */
  readonly each?: Readonly<Record<string, Defaults>>;
  /** What no table can say. */
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

/** Tables are shared, what is made from them is not. */
function copyOf(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: JsonObject = {};
  for (const key in value) copy[key] = copyOf(value[key]!);
  return copy;
}

/** The object at a field, made when it is not there. */
export function made(object: Fields, name: string): Fields {
  return maybeFields(object[name]) ?? ((object[name] = {}) as Fields);
}

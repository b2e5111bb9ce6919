import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ListType, ObjectType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { spend } from '../work/steps.ts';
import { keyElement, type PathElement, valueElement } from './path-element.ts';
import { isBuiltIn, zeroFields } from './zero.ts';

/** A value that matches its type so badly that its fields cannot be identified. */
export class Untypable extends Error {
  override readonly name = 'Untypable';
}

/** How apply treats a value of this type: as one value, field by field, or item by item. */
export type Shape = 'leaf' | 'map' | 'list';

export function shapeOf(type: Type, value: Json | undefined): Shape {
  switch (type.kind) {
    case 'object':
    case 'map':
      return type.atomic ? 'leaf' : 'map';
    case 'list':
      return type.listType === 'atomic' ? 'leaf' : 'list';
    case 'any':
      return type.deduced && isObject(value) ? 'map' : 'leaf';
    default:
      return 'leaf';
  }
}

const deduced: Type = { kind: 'any', deduced: true };

/** The type of a field or map key; undefined if the schema does not have the field. */
export function fieldType(type: Type, key: string): Type | undefined {
  switch (type.kind) {
    case 'object':
      return type.fields.get(key)?.type ?? (type.preserveUnknown ? deduced : undefined);
    case 'map':
      return type.values;
    default:
      return deduced;
  }
}

/** Like fieldType, but deduces the type of an unknown field: stored values are never rejected. */
export const fieldTypeOrDeduced = (type: Type, key: string): Type => fieldType(type, key) ?? deduced;

/** True for a field that the schema names, false for a map key. */
export const isNamedField = (type: Type, key: string): boolean => type.kind === 'object' && type.fields.has(key);

export const itemType = (type: Type): Type => (type.kind === 'list' ? type.items : deduced);

export const mapOf = (value: Json | undefined): JsonObject | undefined => (isObject(value) ? value : undefined);

export const listOf = (value: Json | undefined): Json[] | undefined => (Array.isArray(value) ? value : undefined);

/** An own property: `constructor` and `__proto__` are keys like any other. */
export function own(map: JsonObject | undefined, key: string): Json | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

export function setOwn(map: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
}

interface ItemKeys {
  readonly names: readonly string[];
  readonly defaults: readonly (Json | undefined)[];
}

const itemKeys = new WeakMap<ListType, ItemKeys>();

function keysOf(list: ListType): ItemKeys {
  let keys = itemKeys.get(list);
  if (keys === undefined) {
    const names = [...list.keys].sort();
    keys = { names, defaults: names.map((name) => keyDefault(list.items, name)) };
    itemKeys.set(list, keys);
  }
  return keys;
}

/** An omitted key has its default or, if it is required in a built-in kind, Go's zero value. */
function keyDefault(items: Type, name: string): Json | undefined {
  const field = items.kind === 'object' ? items.fields.get(name) : undefined;
  if (field?.default !== undefined || !isBuiltIn(items)) return field?.default;
  // Kubernetes defaults the name to empty for this kind of reference only.
  if ((items as ObjectType).name === 'io.k8s.api.core.v1.LocalObjectReference' && name === 'name') return '';
  const zero = zeroFields(items as ObjectType).get(name);
  return typeof zero === 'object' ? (zero.value ?? undefined) : undefined;
}

/** The identity of an item in a set or keyed list. Throws Untypable for an item without one. */
export function itemElement(list: ListType, item: Json): PathElement {
  if (list.listType !== 'map') return setElement(item);
  if (item === null) throw new Untypable('associative list with keys may not have a null element');
  if (!isObject(item)) throw new Untypable('associative list with keys may not have non-map elements');
  const { names, defaults } = keysOf(list);
  const present: string[] = [];
  const values: Json[] = [];
  for (let index = 0; index < names.length; index++) {
    const value = own(item, names[index]!) ?? defaults[index];
    if (value === undefined) continue;
    present.push(names[index]!);
    values.push(value);
  }
  if (present.length === 0) {
    const listed = list.keys.map((key) => JSON.stringify(key)).join(' ');
    throw new Untypable(
      `associative list with keys has an element that omits all key fields [${listed}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(present, values);
}

function setElement(item: Json): PathElement {
  if (Array.isArray(item)) throw new Untypable('not supported: associative list with lists as elements');
  if (item === null) throw new Untypable("associative list without keys has an element that's an explicit null");
  if (typeof item === 'object') throw new Untypable("associative list without keys has an element that's a map type");
  return valueElement(item);
}

/** Reading the keys of a large object takes longer than reading the items of a list. */
const stepsPerKey = 8;

/** Deep equality of JSON values, regardless of key order. */
export function jsonEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    spend(left.length);
    for (let index = 0; index < left.length; index++) if (!jsonEqual(left[index], right[index])) return false;
    return true;
  }
  if (Array.isArray(right)) return false;
  const keys = Object.keys(left);
  spend(keys.length * stepsPerKey);
  if (keys.length !== Object.keys(right).length) return false;
  for (const key of keys) if (!Object.hasOwn(right, key) || !jsonEqual(left[key], right[key])) return false;
  return true;
}

export function cloneJson<T extends Json>(value: T): T {
  return whole(cloneJsonInParts(value));
}

/** The same in parts. Nothing may change the value meanwhile. */
export function* cloneJsonInParts<T extends Json>(value: T): Parts<T> {
  const later: Rest[] = [];
  const copy = copyOf(value, later);
  for (let rest = later.pop(); rest !== undefined; rest = later.pop()) {
    yield;
    if (rest.keys === undefined) copyItems(rest, later);
    else copyFields(rest, later);
  }
  return copy as T;
}

/** A list or an object that is copied up to this index. */
type Rest = RestOfList | RestOfObject;

interface RestOfList {
  readonly value: readonly Json[];
  readonly copy: Json[];
  readonly keys: undefined;
  readonly from: number;
}

interface RestOfObject {
  readonly value: JsonObject;
  readonly copy: JsonObject;
  readonly keys: readonly string[];
  readonly from: number;
}

/** Leaves for later what would take this part too long. */
function copyOf(value: Json, later: Rest[]): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const copy: Json[] = [];
    copyItems({ value, copy, keys: undefined, from: 0 }, later);
    return copy;
  }
  const copy: JsonObject = {};
  copyFields({ value, copy, keys: Object.keys(value), from: 0 }, later);
  return copy;
}

function copyItems(rest: RestOfList, later: Rest[]): void {
  const { value, copy } = rest;
  for (let index = rest.from; index < value.length; index++) {
    if (endsPart()) {
      later.push({ ...rest, from: index });
      return;
    }
    copy.push(copyOf(value[index]!, later));
  }
}

function copyFields(rest: RestOfObject, later: Rest[]): void {
  const { value, copy, keys } = rest;
  for (let index = rest.from; index < keys.length; index++) {
    if (endsPart()) {
      later.push({ ...rest, from: index });
      return;
    }
    const key = keys[index]!;
    setOwn(copy, key, copyOf(value[key]!, later));
  }
}

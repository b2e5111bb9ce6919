import type { Json, JsonObject } from '@capstan/machinery';
import { sameJson, spend } from '@capstan/machinery';
import type { Declaration, ObjectField, ObjectFields } from '../types/declaration.ts';
import { ArrayList, elementsOf, equalInOrder, equalMaps } from './collections.ts';
import { equalValues } from './equality.ts';
import { type CelError, ListValue, MapValue, noSuchOverload, type Value } from './value.ts';

/** A JSON array whose elements are converted on access. */
export class JsonList extends ListValue {
  readonly json: readonly Json[];
  readonly element: Declaration;

  constructor(json: readonly Json[], element: Declaration) {
    super();
    this.json = json;
    this.element = element;
  }

  get size(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return this.element.read(this.json[index]!);
  }

  equals(other: ListValue): boolean | CelError {
    return equalInOrder(this, other);
  }

  concatenate(other: ListValue): ListValue {
    return new ArrayList(elementsOf(this).concat(elementsOf(other)));
  }
}

/** `x-kubernetes-list-type: set`: order is irrelevant, and concatenation skips existing elements. */
export class JsonSet extends JsonList {
  override equals(other: ListValue): boolean | CelError {
    if (this.size !== other.size) return false;
    for (let index = 0; index < other.size; index++) if (!containsValue(this, other.at(index))) return false;
    return true;
  }

  override concatenate(other: ListValue): ListValue {
    const elements = [...elementsOf(this)];
    for (const added of elementsOf(other)) {
      if (!elements.some((element) => equalValues(element, added) === true)) elements.push(added);
    }
    return new ArrayList(elements);
  }
}

function containsValue(list: ListValue, value: Value): boolean {
  return elementsOf(list).some((element) => equalValues(element, value) === true);
}

/** `x-kubernetes-list-type: map`: key properties identify elements, order is irrelevant, and concatenation merges. */
export class JsonMapList extends JsonList {
  readonly keys: readonly string[];

  constructor(json: readonly Json[], element: Declaration, keys: readonly string[]) {
    super(json, element);
    this.keys = keys;
  }

  override equals(other: ListValue): boolean | CelError {
    if (this.size !== other.size) return false;
    const own = new Map(elementsOf(this).map((element) => [this.#keyOf(element), element]));
    for (const element of elementsOf(other)) {
      const match = own.get(this.#keyOf(element));
      if (match === undefined) return false;
      const equal = equalValues(match, element);
      if (equal !== true) return equal;
    }
    return true;
  }

  override concatenate(other: ListValue): ListValue {
    const merged = new Map(elementsOf(this).map((element) => [this.#keyOf(element), element]));
    for (const element of elementsOf(other)) merged.set(this.#keyOf(element), element);
    return new ArrayList([...merged.values()]);
  }

  #keyOf(element: Value): string {
    if (!(element instanceof JsonMap)) return '';
    return JSON.stringify(this.keys.map((key) => (Object.hasOwn(element.json, key) ? element.json[key] : null)));
  }
}

/** A JSON object as a map: `additionalProperties`, or data without a schema. */
export class JsonMap extends MapValue {
  readonly json: JsonObject;
  readonly element: Declaration | undefined;

  constructor(json: JsonObject, element: Declaration | undefined) {
    super();
    this.json = json;
    this.element = element;
  }

  get size(): number {
    return namesOf(this.json).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload;
    if (this.element === undefined || !Object.hasOwn(this.json, key)) return undefined;
    return this.element.read(this.json[key]!);
  }

  keys(): Value[] {
    return this.element === undefined ? [] : namesOf(this.json);
  }

  equals(other: MapValue): boolean | CelError {
    if (this.element === undefined && other instanceof JsonMap) return sameJson(this.json, other.json);
    return equalMaps(this, other);
  }
}

/** A JSON object with declared properties, which expressions access by their escaped names; null properties count as absent. */
export class JsonStruct extends JsonMap {
  readonly fields: ObjectFields;

  constructor(json: JsonObject, fields: ObjectFields) {
    super(json, undefined);
    this.fields = fields;
  }

  /** The value of a declared property; undefined if absent. */
  read(field: ObjectField): Value | undefined {
    const { property } = field;
    const json = this.json[property];
    if (json === undefined || json === null || (property in Object.prototype && !Object.hasOwn(this.json, property))) return undefined;
    return field.declaration.read(json);
  }

  override find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload;
    const field = this.fields.get(key);
    return field === undefined ? undefined : this.read(field);
  }

  override keys(): Value[] {
    const present: Value[] = [];
    spend(this.fields.size);
    for (const [name, field] of this.fields) if (Object.hasOwn(this.json, field.property)) present.push(name);
    return present;
  }

  override equals(other: MapValue): boolean | CelError {
    if (!(other instanceof JsonMap)) return equalMaps(this, other);
    if (this.size !== other.size) return false;
    spend(this.fields.size);
    const declared = new Set<string>();
    for (const [name, field] of this.fields) {
      declared.add(field.property);
      const left = this.read(field);
      const right = other.find(name);
      if (left === undefined || right === undefined) {
        if (left !== right) return false;
        continue;
      }
      const equal = equalValues(left, right);
      if (equal !== true) return equal;
    }
    return namesOf(this.json).every((property) => declared.has(property) || isSameProperty(this.json, other.json, property));
  }
}

/** Reading the names of a large object takes far longer than reading as many elements of a list. */
const STEPS_PER_NAME = 8;

function namesOf(json: JsonObject): string[] {
  const names = Object.keys(json);
  spend(names.length * STEPS_PER_NAME);
  return names;
}

function isSameProperty(one: JsonObject, other: JsonObject, property: string): boolean {
  return !Object.hasOwn(other, property) || sameJson(one[property]!, other[property]!);
}

import type { Json, JsonObject } from '@capstan/machinery';
import { sameJson, spend } from '@capstan/machinery';
import type { Declaration, ObjectField, ObjectFields } from '../types/declaration.ts';
import { ArrayList, elementsOf } from './collections.ts';
import { equalValues } from './equality.ts';
import { elementPairs, valuePairs } from './pairs.ts';
import { ListValue, MapValue, noSuchOverload, Pairs, type Value } from './value.ts';

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

  pairs(other: ListValue): Pairs | boolean {
    return elementPairs(this, other);
  }

  concatenate(other: ListValue): ListValue {
    return new ArrayList(elementsOf(this).concat(elementsOf(other)));
  }
}

/** `x-kubernetes-list-type: set`: order is irrelevant, and concatenation skips existing elements. */
export class JsonSet extends JsonList {
  override pairs(other: ListValue): Pairs | boolean {
    return this.size === other.size && new SetPairs(this, other);
  }

  override concatenate(other: ListValue): ListValue {
    const elements = [...elementsOf(this)];
    for (const added of elementsOf(other)) {
      if (!elements.some((element) => equalValues(element, added) === true)) elements.push(added);
    }
    return new ArrayList(elements);
  }
}

/** Looks for the elements of another list in a set, one by one. */
class SetPairs extends Pairs {
  readonly #set: JsonSet;
  readonly #other: ListValue;
  #index = 0;

  constructor(set: JsonSet, other: ListValue) {
    super();
    this.#set = set;
    this.#other = other;
  }

  next(): boolean {
    if (this.#index === this.#other.size) return false;
    return containsValue(this.#set, this.#other.at(this.#index++)) ? this.take(undefined, undefined) : this.differ();
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

  override pairs(other: ListValue): Pairs | boolean {
    return this.size === other.size && new KeyedPairs(this, other);
  }

  override concatenate(other: ListValue): ListValue {
    const merged = this.byKey();
    for (const element of elementsOf(other)) merged.set(this.keyOf(element), element);
    return new ArrayList([...merged.values()]);
  }

  byKey(): Map<string, Value> {
    return new Map(elementsOf(this).map((element) => [this.keyOf(element), element]));
  }

  keyOf(element: Value): string {
    if (!(element instanceof JsonMap)) return '';
    return JSON.stringify(this.keys.map((key) => (Object.hasOwn(element.json, key) ? element.json[key] : null)));
  }
}

/** The elements with the same keys. */
class KeyedPairs extends Pairs {
  readonly #list: JsonMapList;
  readonly #own: ReadonlyMap<string, Value>;
  readonly #elements: readonly Value[];
  #index = 0;

  constructor(list: JsonMapList, other: ListValue) {
    super();
    this.#list = list;
    this.#own = list.byKey();
    this.#elements = elementsOf(other);
  }

  next(): boolean {
    if (this.#index === this.#elements.length) return false;
    const element = this.#elements[this.#index++]!;
    const match = this.#own.get(this.#list.keyOf(element));
    return match === undefined ? this.differ() : this.take(match, element);
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

  pairs(other: MapValue): Pairs | boolean {
    if (this.element === undefined && other instanceof JsonMap) return sameJson(this.json, other.json);
    return valuePairs(this, other);
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

  override pairs(other: MapValue): Pairs | boolean {
    if (!(other instanceof JsonMap)) return valuePairs(this, other);
    return this.size === other.size && new FieldPairs(this, other);
  }
}

/** The declared properties, and then those that are not declared. */
class FieldPairs extends Pairs {
  readonly #one: JsonStruct;
  readonly #other: JsonMap;
  readonly #fields: Iterator<readonly [string, ObjectField]>;
  readonly #declared = new Set<string>();

  constructor(one: JsonStruct, other: JsonMap) {
    super();
    spend(one.fields.size);
    this.#one = one;
    this.#other = other;
    this.#fields = one.fields.entries();
  }

  next(): boolean {
    const entry = this.#fields.next();
    if (entry.done) return this.#compareOthers();
    const [name, field] = entry.value;
    this.#declared.add(field.property);
    const left = this.#one.read(field);
    const right = this.#other.find(name);
    return left === undefined || right === undefined ? this.#bothAbsent(left, right) : this.take(left, right);
  }

  #bothAbsent(left: Value | undefined, right: Value | undefined): boolean {
    return left === right ? this.take(undefined, undefined) : this.differ();
  }

  #compareOthers(): false {
    const one = this.#one.json;
    const other = this.#other.json;
    this.areEqual = namesOf(one).every((property) => this.#declared.has(property) || isSameProperty(one, other, property));
    return false;
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

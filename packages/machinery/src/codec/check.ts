import { quote } from '../field/error.ts';
import type { Json, JsonObject } from '../json.ts';
import type { AnyType, ListType, MapType, ObjectType, Scalar, ScalarType, Type } from '../schema/type.ts';
import { endsPart, type Parts, whole } from '../work/parts.ts';
import { CodecError } from './error.ts';
import { goTypeName } from './go-type.ts';
import { jsonKind } from './json.ts';
import { countKeys } from './json-syntax.ts';
import { setOwn } from './own.ts';
import { canonicalScalar, explainBytes, malformedBytes, mismatch, zeroScalar } from './scalar.ts';
import { maxProblems, strictProblems } from './strict.ts';

export interface CheckOptions {
  /** The text that the value was parsed from. Needed to find duplicate fields, of which JSON.parse keeps only the last. */
  readonly text?: string;
}

export interface CheckResult {
  /**
   * Problems that strict validation rejects and other modes only warn about, in text order: `unknown field "spec.nope"`, `duplicate field
   * "data"`.
   */
  readonly unknown: readonly string[];
}

/** Only JSON schemas can nest without limit. Nobody writes this many levels, and the stack has room for far more. */
const maxTypedDepth = 1000;

const clean: CheckResult = { unknown: [] };

/**
 * Decodes a parsed object as its type, as Go would: drops nulls and fields that the type does not have, converts quantities, times and
 * bytes to their canonical form, and throws a CodecError when a value has the wrong type. Changes the object in place; a valid object costs
 * no allocation.
 */
export function checkObject(value: JsonObject, type: ObjectType, options: CheckOptions = {}): CheckResult {
  return whole(checkObjectInParts(value, type, options));
}

/** The same in parts, between which others may run: a large object takes long. */
export function* checkObjectInParts(value: JsonObject, type: ObjectType, options: CheckOptions = {}): Parts<CheckResult> {
  const checker = idle ?? new Checker();
  idle = undefined;
  let unknown: string[] | undefined;
  try {
    unknown = yield* checker.check(value, type, options.text !== undefined);
  } finally {
    idle = checker;
  }
  const { keys } = checker;
  yield;
  // Parsing drops a duplicate key, so fewer keys than in the text mean duplicates. Only then is the slow search worth it.
  if (options.text !== undefined && (yield* countKeys(options.text)) !== keys) return { unknown: strictProblems(options.text, type) };
  return unknown === undefined ? clean : { unknown };
}

const segment = { field: 0, index: 1, key: 2 } as const;

/** Runs one walk at a time. Its state is reused between walks. */
class Checker {
  /** The number of object keys seen, at any depth. */
  keys = 0;
  /** Whether keys of values that are not checked count: only then, they are looked at. */
  #countsAll = true;
  #problems: string[] | undefined;
  #depth = 0;
  readonly #segments: (string | number)[] = [];
  readonly #kinds: number[] = [];
  /** The struct to which each field segment belongs. */
  readonly #owners: (ObjectType | undefined)[] = [];
  /**
   * Set inside types with their own UnmarshalJSON in Go: their errors are reported at the type itself, and their unknown fields not at all.
   */
  #opaqueDepth = -1;
  /** The first value of the wrong type. As in Go, the walk continues: an error from a type's own UnmarshalJSON takes precedence. */
  #refused: CodecError | undefined;

  *check(value: JsonObject, type: ObjectType, countsAll: boolean): Parts<string[] | undefined> {
    this.keys = 0;
    this.#countsAll = countsAll;
    this.#problems = undefined;
    this.#depth = 0;
    this.#opaqueDepth = -1;
    this.#refused = undefined;
    yield* this.#object(value, type);
    if (this.#refused !== undefined) throw this.#refused as CodecError;
    return this.#problems;
  }

  *#object(object: JsonObject, type: ObjectType): Parts<void> {
    const fields = type.fields;
    const depth = this.#depth++;
    if (depth > maxTypedDepth) throw new CodecError(`json: objects may be nested at most ${maxTypedDepth} levels deep`);
    this.#kinds[depth] = segment.field;
    this.#owners[depth] = type;
    for (const key in object) {
      if (endsPart()) yield;
      this.keys++;
      const field = fields.get(key);
      const value = object[key]!;
      if (field === undefined) {
        yield* this.#countKeys(value);
        if (type.preserveUnknown) continue;
        this.#unknown(depth, key);
        delete object[key];
        continue;
      }
      this.#segments[depth] = key;
      if (value === null) {
        if (field.empty !== 'null') delete object[key];
        continue;
      }
      const { type: valueType } = field;
      const keysBefore = this.keys;
      const read = valueType.kind === 'scalar' ? this.#scalar(value, valueType) : yield* this.#value(value, valueType);
      if (field.empty === 'dropped' && isZero(read, valueType, this.keys > keysBefore)) {
        // A client sends an empty managedFields list to clear it.
        if (key !== 'managedFields' || depth !== 1) delete object[key];
      } else if (field.empty === 'null' && Array.isArray(read) && read.length === 0) {
        // A CRD with an empty list of versions is rejected, and the error shows the list as sent.
        if (key !== 'versions' || depth !== 1) object[key] = null;
      } else if (read !== value) object[key] = read;
    }
    this.#depth = depth;
  }

  #scalar(value: Json, type: ScalarType): Json {
    const read = canonicalScalar(value, type.scalar);
    if (read === mismatch) return this.#refuse(value, type);
    if (read === malformedBytes) {
      this.#refused ??= new CodecError(explainBytes(value));
      return value;
    }
    return read;
  }

  *#value(value: Json, type: Type): Parts<Json> {
    switch (type.kind) {
      case 'scalar':
        return this.#scalar(value, type);
      case 'object':
        if (typeof value !== 'object' || Array.isArray(value)) return this.#refuse(value, type);
        yield* this.#object(value as JsonObject, type);
        return value;
      case 'map':
        if (typeof value !== 'object' || Array.isArray(value)) return this.#refuse(value, type);
        yield* this.#map(value as JsonObject, type);
        return value;
      case 'list':
        if (!Array.isArray(value)) return this.#refuse(value, type);
        yield* this.#list(value, type);
        return value;
      case 'any':
        return yield* this.#any(value, type);
    }
  }

  *#map(map: JsonObject, { values }: MapType): Parts<void> {
    const depth = this.#depth++;
    this.#kinds[depth] = segment.key;
    for (const key in map) {
      if (endsPart()) yield;
      this.keys++;
      this.#segments[depth] = key;
      const value = map[key]!;
      const read =
        value === null ? zeroValue(values) : values.kind === 'scalar' ? this.#scalar(value, values) : yield* this.#value(value, values);
      if (read !== value) setOwn(map, key, read);
    }
    this.#depth = depth;
  }

  *#list(list: Json[], { items }: ListType): Parts<void> {
    const depth = this.#depth++;
    this.#kinds[depth] = segment.index;
    for (let index = 0; index < list.length; index++) {
      if (endsPart()) yield;
      this.#segments[depth] = index;
      const value = list[index]!;
      const read =
        value === null ? zeroValue(items) : items.kind === 'scalar' ? this.#scalar(value, items) : yield* this.#value(value, items);
      if (read !== value) list[index] = read;
    }
    this.#depth = depth;
  }

  *#any(value: Json, { form, schema }: AnyType): Parts<Json> {
    if (schema === undefined) {
      yield* this.#countKeys(value);
      return value;
    }
    if (form === 'schemaOrBool' && typeof value === 'boolean') return value;
    const list = Array.isArray(value);
    if (typeof value !== 'object' || (list && form === 'schemaOrBool')) {
      if (form === 'schemaOrBool') throw new CodecError('boolean or JSON schema expected');
      return null;
    }
    const outermost = this.#opaqueDepth === -1;
    const refusedBefore = this.#refused;
    if (outermost) {
      this.#opaqueDepth = this.#depth;
      this.#refused = undefined;
    }
    if (!list) yield* this.#object(value as JsonObject, schema);
    else yield* this.#list(value, { kind: 'list', items: form === 'schemaOrArray' ? schema : stringType, listType: 'atomic', keys: [] });
    if (!outermost) return value;
    if (this.#refused !== undefined) throw this.#refused;
    this.#opaqueDepth = -1;
    this.#refused = refusedBefore;
    return value;
  }

  /** Counts the keys of a value that is not checked. Not recursive: the value may be as deep as the text allows. */
  *#countKeys(value: Json): Parts<void> {
    if (!this.#countsAll || typeof value !== 'object' || value === null) return;
    const open: (Json[] | JsonObject)[] = [value];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const values = Array.isArray(next) ? next : Object.values(next);
      if (values !== next) this.keys += values.length;
      for (const child of values) if (typeof child === 'object' && child !== null) open.push(child);
      if (endsPart()) yield;
    }
  }

  #unknown(depth: number, key: string): void {
    if (this.#opaqueDepth !== -1) return;
    this.#problems ??= [];
    if (this.#problems.length < maxProblems) this.#problems.push(`unknown field ${quote(this.#path(depth) + key)}`);
  }

  /** The path above the segment at `depth`, with a trailing dot unless empty. */
  #path(depth: number): string {
    let path = '';
    for (let index = 0; index < depth; index++) {
      path +=
        this.#kinds[index] === segment.index
          ? `[${this.#segments[index]}]`
          : index === 0
            ? this.#segments[index]
            : `.${this.#segments[index]}`;
    }
    return path === '' ? '' : `${path}.`;
  }

  #refuse(value: Json, type: Type): Json {
    if (type.kind === 'scalar' && readsItself.has(type.scalar)) throw this.#mismatch(value, type);
    this.#refused ??= this.#mismatch(value, type);
    whole(this.#countKeys(value));
    return value;
  }

  #mismatch(value: Json, type: Type): CodecError {
    const depth = this.#opaqueDepth === -1 ? this.#depth : this.#opaqueDepth;
    const fields: (string | number)[] = [];
    let owner = '';
    for (let index = 0; index < depth; index++) {
      if (this.#kinds[index] !== segment.field) continue;
      fields.push(this.#segments[index]!);
      owner = this.#owners[index]!.name;
    }
    const integer = type.kind === 'scalar' && (type.scalar === 'int32' || type.scalar === 'int64' || type.scalar === 'intOrString');
    const shown = integer && typeof value === 'number' ? `number ${value}` : jsonKind(value);
    const place = `${owner.slice(owner.lastIndexOf('.') + 1)}.${fields.join('.')}`;
    return new CodecError(`json: cannot unmarshal ${shown} into Go struct field ${place} of type ${expectedName(type)}`);
  }
}

/** Used by the next walk, unless one is running. */
let idle: Checker | undefined;
const readsItself = new Set<Scalar>(['time', 'microTime', 'duration', 'quantity', 'intOrString']);
const stringType: Type = { kind: 'scalar', scalar: 'string' };

/** Errors from types with their own UnmarshalJSON name the type that they decode first. */
function expectedName(type: Type): string {
  if (type.kind === 'scalar') {
    if (type.scalar === 'intOrString') return 'int32';
    if (type.scalar === 'time' || type.scalar === 'microTime' || type.scalar === 'duration') return 'string';
  }
  return goTypeName(type);
}

/** Go's `omitempty`: empty strings, lists and maps, zero and false; never a struct. */
function isZero(value: Json, type: Type, hasKeys: boolean): boolean {
  if (value === '' || value === 0 || value === false || value === null) return true;
  if (type.kind === 'list') return (value as Json[]).length === 0;
  return type.kind === 'map' && !hasKeys;
}

/** The value that replaces null inside a list or map, where Go has no pointers. */
function zeroValue(type: Type): Json {
  if (type.kind === 'scalar') return zeroScalar(type.scalar);
  return type.kind === 'object' ? {} : null;
}

import { setOwn } from '../codec/own.ts';
import type { Json, JsonObject } from '../json.ts';
import type { AnyType, Field, MapType, ObjectType, Scalar, Type } from '../schema/type.ts';
import { DecodeError } from './error.ts';
import { type Plan, planOf } from './plan.ts';
import { readRaw, readScalar, scalarWire } from './scalar.ts';
import { WireReader, wire } from './wire-reader.ts';

/** The message as the JSON that a client would have sent. It has no kind and apiVersion: those are in the envelope. */
export function decodeMessage(raw: Buffer, type: ObjectType): JsonObject {
  const object: JsonObject = {};
  readFields(new WireReader(raw), object, { plan: planOf(type), depth: 0 });
  return object;
}

/** Only JSON schemas can nest without limit, and nobody nests them this deep. */
const maxDepth = 500;

interface Level {
  readonly plan: Plan;
  readonly depth: number;
}

/** Reads to the end of the reader's range into the object. */
function readFields(reader: WireReader, object: JsonObject, { plan, depth }: Level): void {
  if (depth > maxDepth) throw new DecodeError(`proto: messages may be nested at most ${maxDepth} levels deep`);
  while (reader.nextTag()) {
    const entry = plan.get(reader.number);
    if (entry === undefined) reader.skip();
    else if (entry instanceof Map) {
      reader.expect(wire.bytes, 'embedded');
      const outer = reader.enter();
      readFields(reader, object, { plan: entry, depth: depth + 1 });
      reader.leave(outer);
    } else readField(reader, object, { field: entry, depth });
  }
}

function readField(reader: WireReader, object: JsonObject, { field, depth }: { field: Field; depth: number }): void {
  const { name, type } = field;
  const place = { name, depth };
  if (type.kind === 'list' && type.wrapped !== true) {
    const list = (object[name] ??= []) as JsonObject[string][];
    // Numbers may be packed into one value; Go accepts both forms.
    const scalar = type.items.kind === 'scalar' ? type.items.scalar : undefined;
    if (reader.wireType === wire.bytes && (scalar === 'int32' || scalar === 'int64' || scalar === 'bool' || scalar === 'double')) {
      const outer = reader.enter();
      while (!reader.atEnd()) {
        reader.wireType = scalar === 'double' ? wire.fixed64 : wire.varint;
        reader.count();
        list.push(readValue(reader, type.items, place));
      }
      reader.leave(outer);
    } else list.push(readValue(reader, type.items, place));
  } else if (type.kind === 'map') {
    const map = (object[name] ??= {}) as JsonObject;
    reader.countEntry(map);
    const { key, value } = readEntry(reader, type, place);
    setOwn(map, key, value);
  } else if (type.kind === 'object' && object[name] !== undefined) {
    // A message that occurs twice is merged.
    reader.expect(wire.bytes, name);
    const outer = reader.enter();
    readFields(reader, object[name] as JsonObject, { plan: planOf(type), depth: depth + 1 });
    reader.leave(outer);
  } else {
    const value = readValue(reader, type, place);
    if (value === undefined || isDropped(value, field)) delete object[name];
    else object[name] = value;
  }
}

/** The position of a value, used in messages and to limit the depth. */
interface Place {
  readonly name: string;
  readonly depth: number;
}

/** Reads one value of the type; null for an unset time. */
function readValue(reader: WireReader, type: Type, place: Place): Json {
  if (type.kind === 'scalar') {
    reader.expect(scalarWire[type.scalar] ?? wire.bytes, place.name);
    return readScalar(reader, type.scalar);
  }
  reader.expect(wire.bytes, place.name);
  const outer = reader.enter();
  const value = readInside(reader, type, place);
  reader.leave(outer);
  return value;
}

function readInside(reader: WireReader, type: Exclude<Type, { kind: 'scalar' }>, place: Place): Json {
  switch (type.kind) {
    case 'object': {
      const object: JsonObject = {};
      readFields(reader, object, { plan: planOf(type), depth: place.depth + 1 });
      return object;
    }
    case 'any':
      return readAny(reader, type, place);
    case 'list': {
      const list: Json[] = [];
      while (reader.nextTag()) {
        if (reader.number === 1) list.push(readValue(reader, type.items, place));
        else reader.skip();
      }
      return list;
    }
    case 'map':
      throw new DecodeError(`proto: field ${place.name} has a map inside a list or map, which protobuf cannot represent`);
  }
}

function readEntry(reader: WireReader, { values }: MapType, place: Place): { key: string; value: Json } {
  reader.expect(wire.bytes, place.name);
  const outer = reader.enter();
  let key = '';
  let value: Json | undefined;
  while (reader.nextTag()) {
    if (reader.number === 1) {
      reader.expect(wire.bytes, place.name);
      key = reader.string();
    } else if (reader.number === 2) value = readValue(reader, values, place);
    else reader.skip();
  }
  reader.leave(outer);
  return { key, value: value ?? emptyValue(values) };
}

/** The value of a map entry that has none. */
function emptyValue(type: Type): Json {
  if (type.kind === 'object') return {};
  if (type.kind !== 'scalar') return null;
  return type.scalar === 'quantity' ? '0' : type.scalar === 'bool' ? false : type.scalar === 'string' || type.scalar === 'bytes' ? '' : 0;
}

function readAny(reader: WireReader, { form, schema }: AnyType, place: Place): Json {
  if (schema === undefined) return readRaw(reader);
  let value: Json = form === 'schemaOrBool' ? false : null;
  while (reader.nextTag()) {
    const isSchema = reader.number === (form === 'schemaOrBool' ? 2 : 1);
    const other = reader.number === (form === 'schemaOrBool' ? 1 : 2);
    if (isSchema) value = readValue(reader, schema, place);
    else if (!other) reader.skip();
    else if (form === 'schemaOrBool') {
      const allows = readScalarAt(reader, 'bool', place) as boolean;
      if (typeof value === 'boolean') value = allows;
    } else {
      const item = form === 'schemaOrArray' ? readValue(reader, schema, place) : readScalarAt(reader, 'string', place);
      if (Array.isArray(value)) value.push(item);
      else value = [item];
    }
  }
  return value;
}

function readScalarAt(reader: WireReader, scalar: Scalar, place: Place): Json {
  return readValue(reader, { kind: 'scalar', scalar }, place);
}

/** Go's protobuf contains empty values for most fields, which its JSON omits. */
function isDropped(value: Json, { empty }: Field): boolean {
  if (value === null) return empty !== 'null';
  return empty === 'dropped' && (value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0));
}

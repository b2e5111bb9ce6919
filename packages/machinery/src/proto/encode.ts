import type { Json, JsonObject } from '../json.ts';
import type { AnyType, Field, ObjectType, Scalar, Type } from '../schema/type.ts';
import { type Plan, planOf } from './plan.ts';
import { wire } from './wire-reader.ts';
import { BackwardWriter } from './wire-writer.ts';

/** The object in protobuf, without its envelope. Absent fields are not written: readers treat them as empty. */
export function encodeMessage(object: JsonObject, type: ObjectType): Buffer {
  const writer = new BackwardWriter();
  writeFields(writer, object, planOf(type));
  return writer.result();
}

const backwards = new WeakMap<Plan, [number, Field | Plan][]>();

function entriesBackwards(plan: Plan): [number, Field | Plan][] {
  let entries = backwards.get(plan);
  if (entries === undefined) backwards.set(plan, (entries = [...plan].sort(([a], [b]) => b - a)));
  return entries;
}

function writeFields(writer: BackwardWriter, object: JsonObject, plan: Plan): void {
  for (const [number, entry] of entriesBackwards(plan)) {
    if (entry instanceof Map) {
      const from = writer.length;
      writeFields(writer, object, entry);
      if (writer.length > from) writer.closeMessage(number, from);
      continue;
    }
    const value = object[entry.name];
    if (value !== undefined && value !== null) writeField(writer, number, { value, type: entry.type });
  }
}

interface Typed {
  readonly value: Json;
  readonly type: Type;
}

function writeField(writer: BackwardWriter, number: number, { value, type }: Typed): void {
  if (type.kind === 'list' && type.wrapped !== true) {
    for (const item of (value as Json[]).toReversed()) writeValue(writer, number, { value: item, type: type.items });
  } else if (type.kind === 'map') {
    for (const key of Object.keys(value as JsonObject)
      .sort()
      .reverse()) {
      const from = writer.length;
      const entry = (value as JsonObject)[key]!;
      if (entry !== null) writeValue(writer, 2, { value: entry, type: type.values });
      writer.string(key);
      writer.tag(1, wire.bytes);
      writer.closeMessage(number, from);
    }
  } else writeValue(writer, number, { value, type });
}

function writeValue(writer: BackwardWriter, number: number, { value, type }: Typed): void {
  if (type.kind === 'scalar') {
    writeScalar(writer, number, { value, scalar: type.scalar });
    return;
  }
  const from = writer.length;
  if (type.kind === 'object') writeFields(writer, value as JsonObject, planOf(type));
  else if (type.kind === 'any') writeAny(writer, value, type);
  else if (type.kind === 'list') {
    for (const item of (value as Json[]).toReversed()) writeValue(writer, 1, { value: item, type: type.items });
  }
  writer.closeMessage(number, from);
}

function writeAny(writer: BackwardWriter, value: Json, { form, schema }: AnyType): void {
  if (schema === undefined) {
    writer.string(JSON.stringify(value));
    writer.tag(1, wire.bytes);
    return;
  }
  if (Array.isArray(value)) {
    const items: Type = form === 'schemaOrArray' ? schema : { kind: 'scalar', scalar: 'string' };
    for (const item of value.toReversed()) writeValue(writer, 2, { value: item, type: items });
    return;
  }
  const isSchema = typeof value === 'object' && value !== null;
  if (isSchema) writeValue(writer, form === 'schemaOrBool' ? 2 : 1, { value, type: schema });
  if (form === 'schemaOrBool') writeScalar(writer, 1, { value: isSchema || value === true, scalar: 'bool' });
}

function writeScalar(writer: BackwardWriter, number: number, { value, scalar }: { value: Json; scalar: Scalar }): void {
  switch (scalar) {
    case 'string':
      writer.string(value as string);
      writer.tag(number, wire.bytes);
      return;
    case 'bytes':
      writer.bytes(Buffer.from(value as string, 'base64'));
      writer.tag(number, wire.bytes);
      return;
    case 'bool':
      writer.varint(value === true ? 1 : 0);
      writer.tag(number, wire.varint);
      return;
    case 'int32':
    case 'int64':
      writer.varint(value as number);
      writer.tag(number, wire.varint);
      return;
    case 'double':
      writer.double(value as number);
      writer.tag(number, wire.fixed64);
      return;
    default: {
      const from = writer.length;
      writeSmallMessage(writer, value, scalar);
      writer.closeMessage(number, from);
    }
  }
}

/** Scalars that are messages in protobuf. */
function writeSmallMessage(
  writer: BackwardWriter,
  value: Json,
  scalar: Exclude<Scalar, 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'double'>,
): void {
  switch (scalar) {
    case 'quantity':
      writer.string(value as string);
      writer.tag(1, wire.bytes);
      return;
    case 'time':
    case 'microTime':
      writeTime(writer, value as string);
      return;
    case 'duration':
      writer.varint(Math.round(Number.parseFloat(value as string) * 1e9));
      writer.tag(1, wire.varint);
      return;
    case 'intOrString': {
      const isText = typeof value === 'string';
      writer.string(isText ? value : '');
      writer.tag(3, wire.bytes);
      writer.varint(isText ? 0 : (value as number));
      writer.tag(2, wire.varint);
      writer.varint(isText ? 1 : 0);
      writer.tag(1, wire.varint);
    }
  }
}

function writeTime(writer: BackwardWriter, text: string): void {
  const micros = /\.(\d{6})Z$/.exec(text)?.[1] ?? '0';
  writer.varint(Number(micros) * 1000);
  writer.tag(2, wire.varint);
  writer.varint(Math.floor(Date.parse(text) / 1000));
  writer.tag(1, wire.varint);
}

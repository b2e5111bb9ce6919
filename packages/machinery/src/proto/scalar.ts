import { printSeconds } from '../codec/go-time.ts';
import type { Json } from '../json.ts';
import { canonicalizeQuantity } from '../quantity/quantity.ts';
import type { Scalar } from '../schema/type.ts';
import { DecodeError } from './error.ts';
import { type WireReader, wire } from './wire-reader.ts';

/** The wire type of scalars that are not length-delimited. */
export const scalarWire: Partial<Record<Scalar, number>> = {
  bool: wire.varint,
  int32: wire.varint,
  int64: wire.varint,
  double: wire.fixed64,
};

/** Reads one scalar in its JSON form; null for an unset time. */
export function readScalar(reader: WireReader, scalar: Scalar): Json {
  switch (scalar) {
    case 'string':
      return reader.string();
    case 'bytes':
      return reader.base64();
    case 'bool':
      return reader.varint64() !== 0;
    case 'int32':
      return reader.varint32();
    case 'int64':
      return reader.varint64();
    case 'double':
      return reader.double();
    case 'time':
    case 'microTime':
      return readTime(reader, scalar);
    case 'duration':
      return printDuration(readNumbers(reader).get(1) ?? 0);
    case 'quantity':
      return readQuantity(reader);
    case 'intOrString':
      return readIntOrString(reader);
  }
}

/** The integer fields of a small message. */
function readNumbers(reader: WireReader): Map<number, number> {
  const numbers = new Map<number, number>();
  const outer = reader.enter();
  while (reader.nextTag()) {
    if (reader.wireType === wire.varint) numbers.set(reader.number, reader.varint64());
    else reader.skip();
  }
  reader.leave(outer);
  return numbers;
}

/** The years 1 to 9999: the range of RFC 3339. */
const firstSecond = -62_135_596_800;
const lastSecond = 253_402_300_799;

function readTime(reader: WireReader, scalar: 'time' | 'microTime'): string | null {
  const numbers = readNumbers(reader);
  if (numbers.size === 0) return null;
  const seconds = numbers.get(1) ?? 0;
  const nanos = numbers.get(2) ?? 0;
  if (seconds < firstSecond || seconds > lastSecond)
    throw new DecodeError(`proto: time of ${seconds} seconds is outside the years 1 to 9999`);
  if (nanos < 0 || nanos > 999_999_999) throw new DecodeError(`proto: time has ${nanos} nanoseconds, expected 0 to 999999999`);
  const text = printSeconds(seconds);
  if (scalar === 'time') return text;
  return `${text.slice(0, -1)}.${String(Math.trunc(nanos / 1000)).padStart(6, '0')}Z`;
}

function printDuration(nanoseconds: number): string {
  return `${nanoseconds / 1e9}s`;
}

function readQuantity(reader: WireReader): string {
  const outer = reader.enter();
  let text = '0';
  while (reader.nextTag()) {
    if (reader.number === 1 && reader.wireType === wire.bytes) text = reader.string();
    else reader.skip();
  }
  reader.leave(outer);
  try {
    return canonicalizeQuantity(text);
  } catch (error) {
    throw new DecodeError((error as Error).message);
  }
}

function readIntOrString(reader: WireReader): Json {
  const outer = reader.enter();
  let isText = false;
  let number = 0;
  let text = '';
  while (reader.nextTag()) {
    if (reader.number === 1 && reader.wireType === wire.varint) isText = reader.varint64() === 1;
    else if (reader.number === 2 && reader.wireType === wire.varint) number = reader.varint32();
    else if (reader.number === 3 && reader.wireType === wire.bytes) text = reader.string();
    else reader.skip();
  }
  reader.leave(outer);
  return isText ? text : number;
}

/** JSON text inside protobuf. */
export function readRaw(reader: WireReader): Json {
  let text = 'null';
  while (reader.nextTag()) {
    if (reader.number === 1 && reader.wireType === wire.bytes) text = reader.string();
    else reader.skip();
  }
  if (text === '') return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new DecodeError('proto: the raw value is not JSON');
  }
}

import { spendText } from '@capstan/machinery';
import { countCharacters } from '../syntax/source.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
} from '../types/type.ts';
import { makeDuration, parseDuration, printDuration } from '../value/duration.ts';
import { type Int, integerOverflow, intOfDouble, intValue, isInt64, isUint64, unsignedOverflow } from '../value/integer.ts';
import { printDouble } from '../value/print.ts';
import { makeTimestamp, parseTimestamp, printTimestamp, secondsOf, timestampOverflow } from '../value/timestamp.ts';
import { typeNameOf } from '../value/type-name.ts';
import {
  CelError,
  Double,
  type Duration,
  type ListValue,
  type MapValue,
  type Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../value/value.ts';
import { type FunctionEntry, member, type Overload, overload } from './function.ts';

const A = parameter('A');
const B = parameter('B');

function same(id: string, type: Type): Overload {
  return overload(id, [type], type, (value: Value) => value);
}

function sizes(): Overload[] {
  const sized: readonly (readonly [string, Type, (value: never) => Value])[] = [
    ['bytes', BYTES, (value: Uint8Array) => value.length],
    ['list', listOf(A), (value: ListValue) => value.size],
    ['map', mapOf(A, B), (value: MapValue) => value.size],
    ['string', STRING, (value: string) => countCharacters(value)],
  ];
  return sized.flatMap(([name, type, size]) => [overload(`size_${name}`, [type], INT, size), member(`${name}_size`, [type], INT, size)]);
}

function cannotConvert(from: string, to: string): CelError {
  return new CelError(`type conversion error from '${from}' to '${to}'`);
}

const truths = new Map<string, boolean>([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

function boolOfString(text: string): Value {
  return truths.get(text) ?? cannotConvert('string', 'bool');
}

function stringOfBytes(bytes: Uint8Array): Value {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** How often a text is read that is to be a number. */
const READINGS = 4;

function doubleOfString(text: string): Value {
  spendText(text.length * READINGS);
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    const value = Number(text);
    if (Number.isFinite(value)) return new Double(value);
  } else {
    const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
    if (special !== null) {
      if (special[2]!.toLowerCase() === 'nan') return new Double(Number.NaN);
      return new Double(special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    }
  }
  return cannotConvert('string', 'double');
}

/** More digits than any integer has; reading a million of them takes long. */
const MOST_DIGITS = 20;

function readInteger(text: string, form: RegExp): bigint | undefined {
  spendText(text.length * READINGS);
  if (!form.test(text)) return undefined;
  const digits = text.replace(/^[+-]?0*(?=\d)/, '');
  if (digits.length > MOST_DIGITS) return undefined;
  return text.startsWith('-') ? -BigInt(digits) : BigInt(digits);
}

function intOfString(text: string): Value {
  const value = readInteger(text, /^[+-]?\d+$/);
  return value !== undefined && isInt64(value) ? intValue(value) : cannotConvert('string', 'int');
}

function uintOfString(text: string): Value {
  const value = readInteger(text, /^\d+$/);
  return value !== undefined && isUint64(value) ? new Uint(value) : cannotConvert('string', 'uint');
}

function uintOfDouble({ value }: Double): Value {
  if (!(value > -1 && value < 2 ** 64)) return unsignedOverflow;
  return new Uint(BigInt(Math.trunc(value)));
}

function timestampOfString(text: string): Value {
  return parseTimestamp(text) ?? cannotConvert('string', 'google.protobuf.Timestamp');
}

function durationOfString(text: string): Value {
  return parseDuration(text) ?? cannotConvert('string', 'google.protobuf.Duration');
}

export const conversions: readonly FunctionEntry[] = [
  ['size', sizes()],
  ['type', [overload('type', [A], typeOf(A), (value: Value) => new TypeValue(typeNameOf(value)))]],
  ['dyn', [overload('to_dyn', [A], DYN, (value: Value) => value)]],
  ['bool', [same('bool_to_bool', BOOL), overload('string_to_bool', [STRING], BOOL, boolOfString)]],
  [
    'bytes',
    [same('bytes_to_bytes', BYTES), overload('string_to_bytes', [STRING], BYTES, (text: string) => new TextEncoder().encode(text))],
  ],
  [
    'double',
    [
      same('double_to_double', DOUBLE),
      overload('int64_to_double', [INT], DOUBLE, (value: Int) => new Double(Number(value))),
      overload('string_to_double', [STRING], DOUBLE, doubleOfString),
      overload('uint64_to_double', [UINT], DOUBLE, (value: Uint) => new Double(Number(value.value))),
    ],
  ],
  [
    'duration',
    [
      same('duration_to_duration', DURATION),
      overload('int64_to_duration', [INT], DURATION, (value: Int) => makeDuration(BigInt(value)) ?? integerOverflow),
      overload('string_to_duration', [STRING], DURATION, durationOfString),
    ],
  ],
  [
    'int',
    [
      same('int64_to_int64', INT),
      overload('double_to_int64', [DOUBLE], INT, (value: Double) => intOfDouble(value.value) ?? integerOverflow),
      overload('duration_to_int64', [DURATION], INT, (value: Duration) => intValue(value.nanoseconds)),
      overload('string_to_int64', [STRING], INT, intOfString),
      overload('timestamp_to_int64', [TIMESTAMP], INT, (value: Timestamp) => intValue(secondsOf(value))),
      overload('uint64_to_int64', [UINT], INT, (value: Uint) => (isInt64(value.value) ? intValue(value.value) : integerOverflow)),
    ],
  ],
  [
    'string',
    [
      same('string_to_string', STRING),
      overload('bool_to_string', [BOOL], STRING, (value: boolean) => String(value)),
      overload('bytes_to_string', [BYTES], STRING, stringOfBytes),
      overload('double_to_string', [DOUBLE], STRING, (value: Double) => printDouble(value.value)),
      overload('duration_to_string', [DURATION], STRING, printDuration),
      overload('int64_to_string', [INT], STRING, (value: Int) => String(value)),
      overload('timestamp_to_string', [TIMESTAMP], STRING, printTimestamp),
      overload('uint64_to_string', [UINT], STRING, (value: Uint) => String(value.value)),
    ],
  ],
  [
    'timestamp',
    [
      same('timestamp_to_timestamp', TIMESTAMP),
      overload('int64_to_timestamp', [INT], TIMESTAMP, (value: Int) => makeTimestamp(BigInt(value) * 1_000_000_000n) ?? timestampOverflow),
      overload('string_to_timestamp', [STRING], TIMESTAMP, timestampOfString),
    ],
  ],
  [
    'uint',
    [
      same('uint64_to_uint64', UINT),
      overload('double_to_uint64', [DOUBLE], UINT, uintOfDouble),
      overload('int64_to_uint64', [INT], UINT, (value: Int) => (value < 0 ? unsignedOverflow : new Uint(BigInt(value)))),
      overload('string_to_uint64', [STRING], UINT, uintOfString),
    ],
  ],
];

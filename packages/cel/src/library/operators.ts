import { BOOL, BYTES, DOUBLE, DURATION, INT, listOf, mapOf, parameter, STRING, TIMESTAMP, type Type, UINT } from '../types/type.ts';
import { compareValues } from '../value/compare.ts';
import { durationOverflow, makeDuration } from '../value/duration.ts';
import { listContainsInParts } from '../value/equal-in-parts.ts';
import { equalValues, listContains } from '../value/equality.ts';
import {
  addInt,
  divideInt,
  divisionByZero,
  type Int,
  isUint64,
  moduloInt,
  modulusByZero,
  multiplyInt,
  negateInt,
  subtractInt,
  unsignedOverflow,
} from '../value/integer.ts';
import { printValue } from '../value/print.ts';
import { makeTimestamp, timestampOverflow } from '../value/timestamp.ts';
import {
  CelError,
  Double,
  type Duration,
  isError,
  type ListValue,
  type MapValue,
  type Timestamp,
  Uint,
  type Value,
} from '../value/value.ts';
import { type FunctionEntry, long, type Overload, overload } from './function.ts';

const A = parameter('A');
const B = parameter('B');

function uint(value: bigint): Value {
  return isUint64(value) ? new Uint(value) : unsignedOverflow;
}

function span(nanoseconds: bigint): Value {
  return makeDuration(nanoseconds) ?? durationOverflow;
}

function moment(nanoseconds: bigint): Value {
  return makeTimestamp(nanoseconds) ?? timestampOverflow;
}

/** The evaluator compiles these operators itself, because it decides which arguments to evaluate; the entries are here for the checker. */
function evaluatedElsewhere(): Value {
  throw new Error('operators that evaluate only some of their arguments are compiled by the evaluator, not called');
}

const logic: readonly FunctionEntry[] = [
  ['_?_:_', [overload('conditional', [BOOL, A, A], A, evaluatedElsewhere)]],
  ['_&&_', [overload('logical_and', [BOOL, BOOL], BOOL, evaluatedElsewhere)]],
  ['_||_', [overload('logical_or', [BOOL, BOOL], BOOL, evaluatedElsewhere)]],
  ['!_', [overload('logical_not', [BOOL], BOOL, (value: boolean) => !value)]],
  ['@not_strictly_false', [overload('not_strictly_false', [BOOL], BOOL, evaluatedElsewhere)]],
  ['_==_', [overload('equals', [A, A], BOOL, (one: Value, other: Value) => equalValues(one, other))]],
  ['_!=_', [overload('not_equals', [A, A], BOOL, notEqual)]],
];

function notEqual(one: Value, other: Value): Value {
  const equal = equalValues(one, other);
  return typeof equal === 'boolean' ? !equal : equal;
}

const arithmetic: readonly FunctionEntry[] = [
  [
    '_+_',
    [
      overload('add_bytes', [BYTES, BYTES], BYTES, (a: Uint8Array, b: Uint8Array) => Uint8Array.from(Buffer.concat([a, b]))),
      overload('add_double', [DOUBLE, DOUBLE], DOUBLE, (a: Double, b: Double) => new Double(a.value + b.value)),
      overload('add_duration_duration', [DURATION, DURATION], DURATION, (a: Duration, b: Duration) => span(a.nanoseconds + b.nanoseconds)),
      overload('add_duration_timestamp', [DURATION, TIMESTAMP], TIMESTAMP, (a: Duration, b: Timestamp) =>
        moment(a.nanoseconds + b.nanoseconds),
      ),
      overload('add_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) =>
        moment(a.nanoseconds + b.nanoseconds),
      ),
      overload('add_int64', [INT, INT], INT, (a: Int, b: Int) => addInt(a, b)),
      overload('add_list', [listOf(A), listOf(A)], listOf(A), (a: ListValue, b: ListValue) => a.concatenate(b)),
      overload('add_string', [STRING, STRING], STRING, (a: string, b: string) => a + b),
      overload('add_uint64', [UINT, UINT], UINT, (a: Uint, b: Uint) => uint(a.value + b.value)),
    ],
  ],
  [
    '_-_',
    [
      overload('subtract_double', [DOUBLE, DOUBLE], DOUBLE, (a: Double, b: Double) => new Double(a.value - b.value)),
      overload('subtract_duration_duration', [DURATION, DURATION], DURATION, (a: Duration, b: Duration) =>
        span(a.nanoseconds - b.nanoseconds),
      ),
      overload('subtract_int64', [INT, INT], INT, (a: Int, b: Int) => subtractInt(a, b)),
      overload('subtract_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) =>
        moment(a.nanoseconds - b.nanoseconds),
      ),
      overload('subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP], DURATION, (a: Timestamp, b: Timestamp) =>
        span(a.nanoseconds - b.nanoseconds),
      ),
      overload('subtract_uint64', [UINT, UINT], UINT, (a: Uint, b: Uint) => uint(a.value - b.value)),
    ],
  ],
  [
    '_*_',
    [
      overload('multiply_double', [DOUBLE, DOUBLE], DOUBLE, (a: Double, b: Double) => new Double(a.value * b.value)),
      overload('multiply_int64', [INT, INT], INT, (a: Int, b: Int) => multiplyInt(a, b)),
      overload('multiply_uint64', [UINT, UINT], UINT, (a: Uint, b: Uint) => uint(a.value * b.value)),
    ],
  ],
  [
    '_/_',
    [
      overload('divide_double', [DOUBLE, DOUBLE], DOUBLE, (a: Double, b: Double) => new Double(a.value / b.value)),
      overload('divide_int64', [INT, INT], INT, (a: Int, b: Int) => divideInt(a, b)),
      overload('divide_uint64', [UINT, UINT], UINT, (a: Uint, b: Uint) => (b.value === 0n ? divisionByZero : uint(a.value / b.value))),
    ],
  ],
  [
    '_%_',
    [
      overload('modulo_int64', [INT, INT], INT, (a: Int, b: Int) => moduloInt(a, b)),
      overload('modulo_uint64', [UINT, UINT], UINT, (a: Uint, b: Uint) => (b.value === 0n ? modulusByZero : uint(a.value % b.value))),
    ],
  ],
  [
    '-_',
    [
      overload('negate_double', [DOUBLE], DOUBLE, (value: Double) => new Double(-value.value)),
      overload('negate_int64', [INT], INT, (value: Int) => negateInt(value)),
    ],
  ],
];

const ordered: readonly (readonly [suffix: string, left: Type, right: Type])[] = [
  ['bool', BOOL, BOOL],
  ['int64', INT, INT],
  ['int64_double', INT, DOUBLE],
  ['int64_uint64', INT, UINT],
  ['uint64', UINT, UINT],
  ['uint64_double', UINT, DOUBLE],
  ['uint64_int64', UINT, INT],
  ['double', DOUBLE, DOUBLE],
  ['double_int64', DOUBLE, INT],
  ['double_uint64', DOUBLE, UINT],
  ['string', STRING, STRING],
  ['bytes', BYTES, BYTES],
  ['timestamp', TIMESTAMP, TIMESTAMP],
  ['duration', DURATION, DURATION],
];

function comparison(name: string, prefix: string, test: (order: number) => boolean): FunctionEntry {
  const compare = (one: Value, other: Value): Value => {
    const order = compareValues(one, other);
    return typeof order === 'number' ? test(order) : order;
  };
  const overloads: Overload[] = ordered.map(([suffix, left, right]) => overload(`${prefix}_${suffix}`, [left, right], BOOL, compare));
  return [name, overloads];
}

const comparisons: readonly FunctionEntry[] = [
  comparison('_<_', 'less', (order) => order < 0),
  comparison('_<=_', 'less_equals', (order) => order <= 0),
  comparison('_>_', 'greater', (order) => order > 0),
  comparison('_>=_', 'greater_equals', (order) => order >= 0),
];

/** `list[index]`; the index may be any whole number, whatever its type. */
export function elementAt(list: ListValue, index: Value): Value {
  const whole = wholeNumber(index);
  if (whole === undefined) return new CelError(`unsupported index value ${printValue(index)} in list`);
  if (whole < 0 || whole >= list.size) return new CelError(`index out of bounds: ${whole}`);
  return list.at(whole);
}

function wholeNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof Double && Number.isInteger(value.value)) return value.value;
  return typeof value === 'bigint' ? Number(value) : undefined;
}

/** `map[key]` and `map.key`. */
export function entryAt(map: MapValue, key: Value): Value {
  const found = map.find(key);
  return found === undefined ? new CelError(`no such key: ${printValue(key)}`) : found;
}

const access: readonly FunctionEntry[] = [
  ['_[_]', [overload('index_list', [listOf(A), INT], A, elementAt), overload('index_map', [mapOf(A, B), A], B, entryAt)]],
  [
    '@in',
    [
      long(
        overload('in_list', [A, listOf(A)], BOOL, (value: Value, list: ListValue) => listContains(list, value)),
        (value: Value, list: ListValue) => listContainsInParts(list, value),
      ),
      overload('in_map', [A, mapOf(A, B)], BOOL, isKey),
    ],
  ],
];

function isKey(key: Value, map: MapValue): Value {
  const found = map.find(key);
  return found !== undefined && isError(found) ? found : found !== undefined;
}

export const operators: readonly FunctionEntry[] = [...logic, ...arithmetic, ...comparisons, ...access];

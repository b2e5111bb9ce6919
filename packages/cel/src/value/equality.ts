import { spend, spendText } from '@capstan/machinery';
import { compareNumbers, isNumeric } from './numeric.ts';
import { ElementPairs } from './pairs.ts';
import { CelError, Duration, ListValue, MapValue, OpaqueValue, Optional, type Pairs, Timestamp, TypeValue, type Value } from './value.ts';

/** Equality of any two values: numbers are compared by value; other values of different types are never equal. */
export function equalValues(one: Value, other: Value): boolean | CelError {
  spend(1);
  if (one instanceof CelError) return one;
  if (typeof one !== 'string' && one === other) return true;
  if (other instanceof CelError) return other;
  if (typeof one === 'string') {
    if (typeof other === 'string' && one.length === other.length) spendText(one.length);
    return one === other;
  }
  if (typeof one === 'boolean' || one === null) return false;
  if (isNumeric(one)) return isNumeric(other) && compareNumbers(one, other) === 0;
  if (one instanceof Uint8Array) return other instanceof Uint8Array && equalBytes(one, other);
  if (one instanceof Duration) return other instanceof Duration && one.nanoseconds === other.nanoseconds;
  if (one instanceof Timestamp) return other instanceof Timestamp && one.nanoseconds === other.nanoseconds;
  if (one instanceof ListValue) return other instanceof ListValue && equalPairs(one.pairs(other));
  if (one instanceof MapValue) return other instanceof MapValue && equalPairs(one.pairs(other));
  if (one instanceof TypeValue) return other instanceof TypeValue && one.name === other.name;
  if (one instanceof Optional) return other instanceof Optional && equalOptionals(one, other);
  if (one instanceof OpaqueValue) return other instanceof OpaqueValue && one.typeName === other.typeName && one.equals(other);
  return false;
}

/** The first outcome but true of comparing the pairs. */
function equalPairs(pairs: Pairs | boolean): boolean | CelError {
  if (typeof pairs === 'boolean') return pairs;
  // By far the most common, and faster this way.
  if (pairs instanceof ElementPairs) return equalElements(pairs);
  while (pairs.next()) {
    const equal = pairs.left === undefined || equalValues(pairs.left, pairs.right!);
    if (equal !== true) return equal;
  }
  return pairs.areEqual;
}

function equalElements({ one, other }: ElementPairs): boolean | CelError {
  const { size } = one;
  for (let index = 0; index < size; index++) {
    const equal = equalValues(one.at(index), other.at(index));
    if (equal !== true) return equal;
  }
  return true;
}

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  spendText(one.length);
  return Buffer.compare(one, other) === 0;
}

function equalOptionals(one: Optional, other: Optional): boolean | CelError {
  if (one.value === undefined || other.value === undefined) return one.value === other.value;
  return equalValues(one.value, other.value);
}

/** Whether an element of the list equals the value. */
export function listContains(list: ListValue, value: Value): boolean {
  for (let index = 0; index < list.size; index++) if (equalValues(list.at(index), value) === true) return true;
  return false;
}

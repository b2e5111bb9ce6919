import { spend, spendText } from '@capstan/machinery';
import { compareNumbers, isNumeric } from './numeric.ts';
import { CelError, Duration, noSuchOverload, Timestamp, type Value } from './value.ts';

const notOrdered = new CelError('NaN values cannot be ordered');

/** Compares two values of the same kind: negative, zero or positive. */
export function compareValues(one: Value, other: Value): number | CelError {
  spend(1);
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (isNumeric(one) && isNumeric(other)) {
    const order = compareNumbers(one, other);
    return Number.isNaN(order) ? notOrdered : order;
  }
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other);
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (one instanceof Timestamp && other instanceof Timestamp) return compareBig(one.nanoseconds, other.nanoseconds);
  if (one instanceof Duration && other instanceof Duration) return compareBig(one.nanoseconds, other.nanoseconds);
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    spendText(Math.min(one.length, other.length));
    return Buffer.compare(one, other);
  }
  if (one instanceof CelError) return one;
  return other instanceof CelError ? other : noSuchOverload;
}

function compareBig(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Compares by code points, which is the order of UTF-8 bytes; UTF-16 order differs between surrogates and U+E000 and above. */
function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const left = one.charCodeAt(index);
    const right = other.charCodeAt(index);
    if (left === right) continue;
    spend(index);
    const isLeftSurrogate = left >= 0xd800 && left <= 0xdfff;
    const isRightSurrogate = right >= 0xd800 && right <= 0xdfff;
    if (isLeftSurrogate !== isRightSurrogate) return isLeftSurrogate ? 1 : -1;
    return left - right;
  }
  spend(length);
  return one.length - other.length;
}

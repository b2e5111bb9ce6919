import { CelError } from './value.ts';

const MINIMUM = -(2n ** 63n);
const MAXIMUM = 2n ** 63n - 1n;
const MAXIMUM_UNSIGNED = 2n ** 64n - 1n;

export const integerOverflow = new CelError('integer overflow');
export const unsignedOverflow = new CelError('unsigned integer overflow');
export const divisionByZero = new CelError('division by zero');
export const modulusByZero = new CelError('modulus by zero');

export type Int = number | bigint;

export function isInt64(value: bigint): boolean {
  return value >= MINIMUM && value <= MAXIMUM;
}

export function isUint64(value: bigint): boolean {
  return value >= 0n && value <= MAXIMUM_UNSIGNED;
}

/** An integer in its value form: a number as long as that is exact. */
export function intValue(value: bigint): Int {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

function checked(value: bigint): Int | CelError {
  return isInt64(value) ? intValue(value) : integerOverflow;
}

export function addInt(one: Int, other: Int): Int | CelError {
  if (typeof one === 'number' && typeof other === 'number') {
    const sum = one + other;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return checked(BigInt(one) + BigInt(other));
}

export function subtractInt(one: Int, other: Int): Int | CelError {
  if (typeof one === 'number' && typeof other === 'number') {
    const difference = one - other;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return checked(BigInt(one) - BigInt(other));
}

export function multiplyInt(one: Int, other: Int): Int | CelError {
  if (typeof one === 'number' && typeof other === 'number') {
    const product = one * other;
    // Adding zero turns -0 into 0: integers have only one zero.
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return checked(BigInt(one) * BigInt(other));
}

export function divideInt(one: Int, other: Int): Int | CelError {
  if (Number(other) === 0) return divisionByZero;
  if (typeof one === 'number' && typeof other === 'number') return Math.trunc(one / other) + 0;
  return checked(BigInt(one) / BigInt(other));
}

export function moduloInt(one: Int, other: Int): Int | CelError {
  if (Number(other) === 0) return modulusByZero;
  if (typeof one === 'number' && typeof other === 'number') return (one % other) + 0;
  if (BigInt(one) === MINIMUM && BigInt(other) === -1n) return integerOverflow;
  return checked(BigInt(one) % BigInt(other));
}

export function negateInt(value: Int): Int | CelError {
  return typeof value === 'number' ? 0 - value : checked(-value);
}

/** Truncates a double to an integer; undefined if it is out of range. */
export function intOfDouble(value: number): Int | undefined {
  if (!(Math.abs(value) < 2 ** 63)) return undefined;
  return intValue(BigInt(Math.trunc(value)));
}

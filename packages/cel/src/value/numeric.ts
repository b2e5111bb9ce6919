import { Double, Uint, type Value } from './value.ts';

export type Numeric = number | bigint | Double | Uint;

export function isNumeric(value: Value): value is Numeric {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Double || value instanceof Uint;
}

/** Negative, zero or positive; NaN if one of them is NaN. Exact between int and uint. */
export function compareNumbers(one: Numeric, other: Numeric): number {
  const left = amount(one);
  const right = amount(other);
  if (typeof left === 'number' && typeof right === 'number') return order(left, right);
  // Compared with a double, an integer counts as the nearest double.
  if (one instanceof Double || other instanceof Double) return order(Number(left), Number(right));
  return left < right ? -1 : left > right ? 1 : 0;
}

function order(left: number, right: number): number {
  return left === right ? 0 : left < right ? -1 : left > right ? 1 : Number.NaN;
}

function amount(value: Numeric): number | bigint {
  return typeof value === 'object' ? value.value : value;
}

import { Double, Uint, type Value } from './value.ts';

export type Numeric = number | bigint | Double | Uint;

export function isNumeric(value: Value): value is Numeric {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Double || value instanceof Uint;
}

/** Negative, zero or positive; NaN when one of them is not a number. Exact across int, uint and double. */
export function compareNumbers(one: Numeric, other: Numeric): number {
  const left = amount(one);
  const right = amount(other);
  if (typeof left === 'number' && typeof right === 'number')
    return left - right === 0 || left === right ? 0 : left < right ? -1 : left > right ? 1 : Number.NaN;
  if (Number.isNaN(left) || Number.isNaN(right)) return Number.NaN;
  // JavaScript compares a bigint with a number by their exact amounts.
  return left < right ? -1 : left > right ? 1 : 0;
}

function amount(value: Numeric): number | bigint {
  return typeof value === 'object' ? value.value : value;
}

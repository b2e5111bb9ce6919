import { isObject } from '../json.ts';
import { addQuantities, compareQuantities, parseQuantity, printQuantity, type Quantity, zeroQuantity } from '../quantity/quantity.ts';

/** Amounts by resource name. */
export type Amounts = ReadonlyMap<string, Quantity>;

/** Reads amounts from an object, such as `{ cpu: 500m }`. */
export function readAmounts(value: unknown): Map<string, Quantity> {
  const amounts = new Map<string, Quantity>();
  if (!isObject(value)) return amounts;
  for (const [name, amount] of Object.entries(value)) amounts.set(name, parseQuantity(amount as string | number));
  return amounts;
}

/** Writes amounts as they appear in an object, sorted by name. */
export function writeAmounts(amounts: Amounts): { [name: string]: string } {
  return Object.fromEntries(sorted(amounts).map(([name, amount]) => [name, printQuantity(amount)]));
}

/** Amounts as messages show them: `cpu=1,memory=1Gi`. */
export function printAmounts(amounts: Amounts): string {
  return sorted(amounts)
    .map(([name, amount]) => `${name}=${printQuantity(amount)}`)
    .join(',');
}

export function addAmounts(total: Map<string, Quantity>, more: Amounts): void {
  for (const [name, amount] of more) {
    const sum = total.get(name);
    total.set(name, sum === undefined ? amount : addQuantities(sum, amount));
  }
}

/** Raises each amount to the other's, if that is larger. */
export function raiseAmounts(total: Map<string, Quantity>, other: Amounts): void {
  for (const [name, amount] of other) {
    const current = total.get(name);
    if (current === undefined || compareQuantities(amount, current) > 0) total.set(name, amount);
  }
}

/** Whether both have the same names with equal amounts. */
export function sameAmounts(one: Amounts, other: Amounts): boolean {
  if (one.size !== other.size) return false;
  for (const [name, amount] of one) {
    const match = other.get(name);
    if (match === undefined || compareQuantities(amount, match) !== 0) return false;
  }
  return true;
}

export function onlyAmounts(amounts: Amounts, isKept: (name: string, amount: Quantity) => boolean): Map<string, Quantity> {
  const kept = new Map<string, Quantity>();
  for (const [name, amount] of amounts) if (isKept(name, amount)) kept.set(name, amount);
  return kept;
}

export function wholeAmount(count: number): Quantity {
  return count === 0 ? zeroQuantity : { value: BigInt(count), scale: 0, format: 'decimal' };
}

function sorted(amounts: Amounts): [string, Quantity][] {
  return [...amounts].sort(([one], [other]) => (one < other ? -1 : 1));
}

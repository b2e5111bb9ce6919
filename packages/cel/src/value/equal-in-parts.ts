import { type Parts, spend, spentPart } from '@capstan/machinery';
import { equalValues } from './equality.ts';
import { type CelError, ListValue, MapValue, Optional, type Pairs, type Value } from './value.ts';

/** Equality in parts, with the outcome of `equalValues`. */
export function* equalInParts(one: Value, other: Value): Parts<boolean | CelError> {
  /** The lists and maps that are being compared, innermost last. */
  const open: Pairs[] = [];
  let equal = compare(one, other, open);
  for (let pairs = open.at(-1); equal === true && pairs !== undefined; pairs = open.at(-1)) {
    if (spentPart()) yield;
    if (pairs.next()) equal = pairs.left === undefined || compare(pairs.left, pairs.right!, open);
    else {
      equal = pairs.areEqual;
      open.pop();
    }
  }
  return equal;
}

/** Whether a value consists of others. */
export function isOpen(value: Value): value is ListValue | MapValue | Optional {
  return value instanceof ListValue || value instanceof MapValue || value instanceof Optional;
}

function areOpen(one: Value, other: Value): boolean {
  if (one instanceof ListValue) return other instanceof ListValue;
  if (one instanceof MapValue) return other instanceof MapValue;
  return one instanceof Optional && other instanceof Optional;
}

/** Compares two values at once, but leaves what is in lists and maps open. */
function compare(one: Value, other: Value, open: Pairs[]): boolean | CelError {
  if (!areOpen(one, other)) return equalValues(one, other);
  spend(1);
  if (one === other) return true;
  if (one instanceof Optional) return compareOptionals(one, other as Optional, open);
  const pairs = (one as ListValue | MapValue).pairs(other as ListValue & MapValue);
  if (typeof pairs === 'boolean') return pairs;
  open.push(pairs);
  return true;
}

function compareOptionals({ value: one }: Optional, { value: other }: Optional, open: Pairs[]): boolean | CelError {
  return one === undefined || other === undefined ? one === other : compare(one, other, open);
}

/** Whether an element of the list equals the value. */
export function* listContainsInParts(list: ListValue, value: Value): Parts<boolean> {
  return (yield* indexInParts(list, value)) >= 0;
}

/** The index of the first element that equals the value; -1 if none does. */
export function* indexInParts(list: ListValue, value: Value): Parts<number> {
  for (let index = 0; index < list.size; index++) {
    if (spentPart(1)) yield;
    const element = list.at(index);
    if ((isOpen(element) ? yield* equalInParts(element, value) : equalValues(element, value)) === true) return index;
  }
  return -1;
}

/** The index of the last element that equals the value; -1 if none does. */
export function* lastIndexInParts(list: ListValue, value: Value): Parts<number> {
  for (let index = list.size - 1; index >= 0; index--) {
    if (spentPart(1)) yield;
    const element = list.at(index);
    if ((isOpen(element) ? yield* equalInParts(element, value) : equalValues(element, value)) === true) return index;
  }
  return -1;
}

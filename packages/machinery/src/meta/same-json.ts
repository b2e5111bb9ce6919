import { endsPart, type Parts } from '../work/parts.ts';
import { spend } from '../work/steps.ts';

/** Whether two JSON values are equal, regardless of the order of fields. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  spend(1);
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    spend(one.length);
    for (let at = 0; at < one.length; at++) if (!sameJson(one[at], other[at])) return false;
    return true;
  }
  if (Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  spend(keys.length);
  for (const key of keys) {
    if (!Object.hasOwn(other, key)) return false;
    if (!sameJson((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key])) return false;
  }
  return true;
}

/** A text that is the same for values that are equal, to look them up in a table. */
export function jsonKey(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isScalar(inner) || Array.isArray(inner) ? inner : Object.fromEntries(Object.entries(inner as object).sort(byName)),
  );
}

const byName = ([left]: [string, unknown], [right]: [string, unknown]): number => (left < right ? -1 : 1);

/** The same in parts, for large values. */
export function* sameJsonInParts(one: unknown, other: unknown): Parts<boolean> {
  const later: Rest[] = [];
  let isSame = areSame(one, other, later);
  for (let rest = later.pop(); isSame && rest !== undefined; rest = later.pop()) {
    yield;
    isSame = areFieldsSame(rest, later);
  }
  return isSame;
}

type Fields = Readonly<Record<string | number, unknown>>;

/** Two objects or lists that are still to be compared, from this field or item on. */
interface Rest {
  readonly one: Fields;
  readonly other: Fields;
  /** The fields of `one` if it is an object. */
  readonly keys: readonly string[] | undefined;
  readonly from: number;
}

/** To list more fields takes so long that the other object's are listed in another part. */
const mostListed = 500;

/** Leaves for later what would take this part too long. */
function areSame(one: unknown, other: unknown, later: Rest[]): boolean {
  if (one === other) return true;
  if (isScalar(one) || isScalar(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Array.isArray(one) ? undefined : Object.keys(one as Fields);
  const rest: Rest = { one: one as Fields, other: other as Fields, keys, from: 0 };
  if (keys === undefined || keys.length <= mostListed) return areFieldsSame(rest, later);
  later.push(rest);
  return true;
}

function areFieldsSame(rest: Rest, later: Rest[]): boolean {
  const { one, other, keys } = rest;
  const length = keys === undefined ? (one as unknown as readonly unknown[]).length : keys.length;
  if (rest.from === 0 && length !== (keys === undefined ? (other as unknown as readonly unknown[]) : Object.keys(other)).length)
    return false;
  for (let index = rest.from; index < length; index++) {
    if (endsPart()) {
      later.push({ ...rest, from: index });
      return true;
    }
    const key = keys === undefined ? index : keys[index]!;
    if (keys !== undefined && !Object.hasOwn(other, key)) return false;
    if (!areSame(one[key], other[key], later)) return false;
  }
  return true;
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

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
  if (one === other) return true;
  if (isScalar(one) || isScalar(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const [fields, others] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  const keys = Object.keys(fields);
  yield;
  if (keys.length !== Object.keys(others).length) return false;
  for (const key of keys) {
    if (endsPart()) yield;
    if (!Object.hasOwn(others, key)) return false;
    const [left, right] = [fields[key], others[key]];
    if (left === right) continue;
    if (isScalar(left) || isScalar(right) || !(yield* sameJsonInParts(left, right))) return false;
  }
  return true;
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

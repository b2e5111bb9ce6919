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

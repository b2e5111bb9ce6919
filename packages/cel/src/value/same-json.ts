import type { Json } from '@capstan/machinery';

/** Whether two JSON values are equal, regardless of key order. */
export function sameJson(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, index) => sameJson(item, other[index]!));
  }
  if (Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key]!, other[key]!));
}

import type { KubeObject } from '@capstan/machinery';

/** Restores a top-level part that this kind of update may not change. */
export function keepPart(object: KubeObject, old: KubeObject, name: string): void {
  if (old[name] === undefined) delete object[name];
  else object[name] = old[name];
}

/** Equal as JSON, regardless of field order; absent and null are equal. */
export function sameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one === undefined || one === null || other === undefined || other === null) return (one ?? undefined) === (other ?? undefined);
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => sameValue(item, other[index]));
  }
  return sameFields(one as Record<string, unknown>, other as Record<string, unknown>);
}

function sameFields(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  for (const key of Object.keys(one)) if (!sameValue(one[key], Object.hasOwn(other, key) ? other[key] : undefined)) return false;
  for (const key of Object.keys(other)) if (!Object.hasOwn(one, key) && !sameValue(undefined, other[key])) return false;
  return true;
}

/** The number of bytes that a base64 text encodes. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

import { type KubeObject, type Parts, sameJson, sameJsonInParts, whole } from '@capstan/machinery';

/**
 * Whether nothing changed but the times of managed fields: applying the same configuration again, without defaults or in
 * equivalent notation, changes nothing. The object then gets the old times.
 */
export function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  return whole(unchanged(object, old, inOnePart));
}

/** The same in parts, for large objects. */
export function isUnchangedInParts(object: KubeObject, old: KubeObject): Parts<boolean> {
  return unchanged(object, old, sameJsonInParts);
}

// biome-ignore lint/correctness/useYield: it has the type of those that yield.
function* inOnePart(one: unknown, other: unknown): Parts<boolean> {
  return sameJson(one, other);
}

function* unchanged(object: KubeObject, old: KubeObject, same: typeof sameJsonInParts): Parts<boolean> {
  if (yield* same(object, old)) return true;
  const entries = object.metadata.managedFields;
  const { managedFields } = old.metadata;
  if (entries === undefined || managedFields === undefined || entries.length !== managedFields.length) return false;
  if (!(yield* same({ ...object, metadata: { ...object.metadata, managedFields } }, old))) return false;
  for (const [index, entry] of entries.entries()) {
    const { time } = managedFields[index]!;
    if (!(yield* same({ ...entry, time }, { ...managedFields[index], time }))) return false;
  }
  object.metadata.managedFields = managedFields;
  return true;
}

import { type KubeObject, type Parts, sameJson, sameJsonInParts } from '@capstan/machinery';

/**
 * Whether nothing changed but the times of managed fields: applying the same configuration again, without defaults or in
 * equivalent notation, changes nothing. The object then gets the old times.
 */
export function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  if (sameJson(object, old)) return true;
  const pairs = pairsWithoutTimes(object, old);
  if (pairs === undefined) return false;
  for (const [one, other] of pairs) if (!sameJson(one, other)) return false;
  object.metadata.managedFields = old.metadata.managedFields!;
  return true;
}

/** The same in parts, for large objects. */
export function* isUnchangedInParts(object: KubeObject, old: KubeObject): Parts<boolean> {
  if (yield* sameJsonInParts(object, old)) return true;
  const pairs = pairsWithoutTimes(object, old);
  if (pairs === undefined) return false;
  for (const [one, other] of pairs) if (!(yield* sameJsonInParts(one, other))) return false;
  object.metadata.managedFields = old.metadata.managedFields!;
  return true;
}

/** Pairs that must all be equal: the objects apart from their managed fields, and those one by one, as if they had the same times. Undefined if they cannot be. */
function pairsWithoutTimes(object: KubeObject, old: KubeObject): [unknown, unknown][] | undefined {
  const entries = object.metadata.managedFields;
  const { managedFields } = old.metadata;
  if (entries === undefined || managedFields === undefined || entries.length !== managedFields.length) return undefined;
  return [
    [{ ...object, metadata: { ...object.metadata, managedFields } }, old],
    ...entries.map((entry, index): [unknown, unknown] => {
      const before = managedFields[index]!;
      return [{ ...entry, time: before.time }, before];
    }),
  ];
}

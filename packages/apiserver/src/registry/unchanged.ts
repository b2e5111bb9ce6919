import type { KubeObject } from '@capstan/machinery';
import { sameJson } from '@capstan/machinery';

/**
 * Whether nothing changed but the times of managed fields: applying the same configuration again, without defaults or in
 * equivalent notation, changes nothing. The object then gets the old times.
 */
export function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  if (sameJson(object, old)) return true;
  const entries = object.metadata.managedFields;
  const { managedFields } = old.metadata;
  if (entries === undefined || managedFields === undefined || entries.length !== managedFields.length) return false;
  if (!sameJson({ ...object, metadata: { ...object.metadata, managedFields } }, old)) return false;
  for (const [index, entry] of entries.entries()) {
    const { time } = managedFields[index]!;
    if (!sameJson({ ...entry, time }, { ...managedFields[index], time })) return false;
  }
  object.metadata.managedFields = managedFields;
  return true;
}

import { type FieldError, FieldPath, fieldsOf, isAbsent, type KubeObject, numberOf } from '@capstan/machinery';
import { Findings } from './findings.ts';

/** Invariants between the counts in a status. */
export interface Counts {
  readonly fields: readonly string[];
  /** Counts that may not exceed `replicas`. */
  readonly partsOfReplicas?: readonly string[];
  /** The name of the ready count, which available pods may not exceed. */
  readonly ready?: string;
}

const at = FieldPath.of('status');

export function validateCounts({ fields, partsOfReplicas = [], ready }: Counts): (object: KubeObject) => FieldError[] {
  return (object) => {
    const found = new Findings();
    const status = fieldsOf(object['status']);
    for (const field of fields) found.nonNegative(at.child(field), status[field]);
    for (const field of partsOfReplicas) {
      if (numberOf(status[field]) > numberOf(status['replicas'])) {
        found.invalid(at.child(field), status[field], 'cannot be greater than status.replicas');
      }
    }
    if (ready !== undefined && numberOf(status['availableReplicas']) > numberOf(status['readyReplicas'])) {
      found.invalid(at.child('availableReplicas'), status['availableReplicas'], `cannot be greater than ${ready}`);
    }
    return found.errors;
  };
}

/** The collision count may never decrease. */
export function validateCollisions(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [count, before] = [fieldsOf(object['status'])['collisionCount'], fieldsOf(old['status'])['collisionCount']];
  if (!isAbsent(before) && (isAbsent(count) || numberOf(count) < numberOf(before)))
    found.invalid(at.child('collisionCount'), numberOf(count), 'cannot be decremented');
  return found.errors;
}

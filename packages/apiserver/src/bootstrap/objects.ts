import type { KubeObject } from '@capstan/machinery';
import { namespaceObjects, priorityClassObjects, serviceRangeObject } from './core.ts';
import { flowControlObjects } from './flow-control.ts';
import { rbacObjects } from './rbac.ts';

/**
 * Every object that a new server starts with, without the fields that the registry sets (uid, creationTimestamp…). Each call builds new
 * ones.
 */
export function bootstrapObjects(now: Date): KubeObject[] {
  return [...namespaceObjects(), ...rbacObjects(), ...flowControlObjects(now), ...priorityClassObjects(), serviceRangeObject()];
}

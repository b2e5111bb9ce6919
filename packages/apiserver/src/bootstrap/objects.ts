import type { KubeObject } from '@capstan/machinery';
import { namespaceObjects, priorityClassObjects, serviceRangeObject } from './core.ts';
import { flowControlObjects } from './flow-control.ts';
import { rbacObjects } from './rbac.ts';

/** Every object that a server has before anybody wrote one, without what the registry adds (uid, creationTimestamp…). Built anew by each call. */
export function bootstrapObjects(now: Date): KubeObject[] {
  return [...namespaceObjects(), ...rbacObjects(), ...flowControlObjects(now), ...priorityClassObjects(), serviceRangeObject()];
}

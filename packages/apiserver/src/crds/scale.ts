import type { ScaleMapping } from '@capstan/kinds';
import { type FieldError, FieldPath, fieldError, type KubeObject } from '@capstan/machinery';
import type { ScalePaths } from './summary.ts';

const largest = 2 ** 31 - 1;

const steps = (path: string): string[] => path.replace(/^\./, '').split('.');

/** The value at a simple path. */
function valueAt(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const key of steps(path)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Maps a custom kind to its scale subresource. */
export function scaleMapping({ specReplicas, statusReplicas, labelSelector }: ScalePaths): ScaleMapping {
  return {
    specReplicasPath: steps(specReplicas),
    statusReplicasPath: steps(statusReplicas),
    selectorOf: (object) => {
      const value = labelSelector === '' ? undefined : valueAt(object, labelSelector);
      return typeof value === 'string' ? value : '';
    },
  };
}

/** Replicas must be non-negative integers. */
export function replicaErrors(object: KubeObject, scale: ScalePaths | undefined, parts: 'all' | 'status'): FieldError[] {
  if (scale === undefined) return [];
  const paths = parts === 'all' ? [scale.specReplicas, scale.statusReplicas] : [scale.statusReplicas];
  return [...paths.flatMap((path) => countErrors(valueAt(object, path), path)), ...selectorErrors(object, scale.labelSelector)];
}

function countErrors(value: unknown, path: string): FieldError[] {
  const at = FieldPath.of(path);
  if (value === undefined) return [];
  // Integers beyond the safe range are parsed as BigInt, so an unsafe number has more than 64 bits, and Go does not see an int64.
  const isCount = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (!isCount) return [fieldError.invalid(at, 0, `${path} accessor error: ${describe(value)}, expected int64`)];
  if ((value as number) < 0) return [fieldError.invalid(at, value, 'should be a non-negative integer')];
  return (value as number) > largest ? [fieldError.invalid(at, value, `should be less than or equal to ${largest}`)] : [];
}

function selectorErrors(object: KubeObject, path: string): FieldError[] {
  const value = path === '' ? undefined : valueAt(object, path);
  if (value === undefined || typeof value === 'string') return [];
  return [fieldError.invalid(FieldPath.of(path), '', `${path} accessor error: ${describe(value)}, expected string`)];
}

/** The value and its type, as printed by Go. */
function describe(value: unknown): string {
  if (value === null) return '<nil> is of the type <nil>';
  if (typeof value === 'number') return `${value} is of the type ${Number.isSafeInteger(value) ? 'int64' : 'float64'}`;
  if (typeof value === 'boolean') return `${value} is of the type bool`;
  if (typeof value === 'string') return `${value} is of the type string`;
  return `${JSON.stringify(value)} is of the type ${Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'}`;
}

import { type BoundResource, holds, lacks, type NewCondition } from '@capstan/api';

/** The remaining objects of a bound kind. */
export interface Remains {
  readonly count: number;
  /** How many objects wait for each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

/** Reports what the deletion of a binding waits for. */
export function deletionCondition(remains: ReadonlyMap<BoundResource, Remains>): NewCondition {
  const type = 'BindingResourceDeleteSuccess';
  const finalizers = new Map<string, number>();
  const resources: string[] = [];
  for (const [{ group, resource }, left] of remains) {
    if (left.count === 0) continue;
    resources.push(`${resource}.${group} has ${left.count} resource instances`);
    for (const [name, count] of left.finalizers) finalizers.set(name, (finalizers.get(name) ?? 0) + count);
  }
  if (finalizers.size > 0) {
    const each = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    return lacks(type, {
      reason: 'SomeFinalizersRemain',
      message: `Some content in the workspace has finalizers remaining: ${each.join(', ')}`,
    });
  }
  if (resources.length === 0) return holds(type);
  return lacks(type, { reason: 'SomeResourcesRemain', message: `Some resources are remaining: ${resources.sort().join(', ')}` });
}

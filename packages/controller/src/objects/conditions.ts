import { formatTime } from '@capstan/machinery';

/** A condition as in `status.conditions`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** The generation that the condition is about: an older one says nothing about the current spec. */
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** The list with this condition set. The transition time changes only with the status. The same list is returned if nothing changed. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: Omit<Condition, 'lastTransitionTime'>,
  now: Date,
): readonly Condition[] {
  const list = conditions ?? [];
  const old = findCondition(list, condition.type);
  if (old === undefined) return [...list, { ...condition, lastTransitionTime: formatTime(now) }];
  const isSame =
    old.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message &&
    old.observedGeneration === condition.observedGeneration;
  if (isSame) return list;
  const lastTransitionTime = old.status === condition.status ? old.lastTransitionTime : formatTime(now);
  return list.map((one) => (one.type === condition.type ? { ...condition, lastTransitionTime } : one));
}

export function removeCondition(conditions: readonly Condition[] | undefined, type: string): readonly Condition[] {
  const list = conditions ?? [];
  return findCondition(list, type) === undefined ? list : list.filter((one) => one.type !== type);
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** Whether the condition is true, and about this generation if one is given. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string, generation?: number): boolean {
  const found = findCondition(conditions, type);
  return (
    found?.status === 'True' &&
    (generation === undefined || found.observedGeneration === undefined || found.observedGeneration >= generation)
  );
}

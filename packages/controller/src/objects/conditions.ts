import { formatTime } from '@capstan/machinery';

/** One line of what is known about an object, as in `status.conditions`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** The generation that this was seen at: an older one says nothing about what is wanted now. */
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** The list with this condition set. The time of transition stays unless the status changed; the same list comes back when nothing did. */
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

/** True, and about what is wanted now when the generation is given. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string, generation?: number): boolean {
  const found = findCondition(conditions, type);
  return (
    found?.status === 'True' &&
    (generation === undefined || found.observedGeneration === undefined || found.observedGeneration >= generation)
  );
}

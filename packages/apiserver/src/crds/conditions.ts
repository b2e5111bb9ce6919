import { formatTime } from '@capstan/machinery';

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string;
  readonly reason: string;
  readonly message: string;
}

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** Sets one condition; its time changes only when its status does. Returns the same list if nothing changed. */
export function withCondition(conditions: readonly Condition[], wanted: NewCondition, now: Date): readonly Condition[] {
  const at = conditions.findIndex(({ type }) => type === wanted.type);
  const old = conditions[at];
  if (old === undefined) return [...conditions, stamped(wanted, formatTime(now))];
  if (old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message) return conditions;
  const time = old.status === wanted.status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : formatTime(now);
  return conditions.with(at, stamped(wanted, time));
}

function stamped({ type, status, reason, message }: NewCondition, lastTransitionTime: string): Condition {
  return { type, status, lastTransitionTime, reason, message };
}

export function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

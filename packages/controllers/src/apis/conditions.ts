import { formatTime } from '@capstan/machinery';

/** As kcp's kinds have them: what holds says no more than that. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly severity?: 'Error' | 'Warning' | 'Info';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

export const holds = (type: string): NewCondition => ({ type, status: 'True' });

/** What does not hold, with the reason and what a person should know. */
export function lacks(
  type: string,
  reason: string,
  { severity = 'Error', message }: { severity?: Condition['severity']; message: string },
): NewCondition {
  return { type, status: 'False', severity, reason, message };
}

export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditions?.some((one) => one.type === type && one.status === 'True') ?? false;

/** The conditions with these set: the summary first, then by name. The same list comes back when nothing changed. */
export function withConditions(conditions: readonly Condition[] = [], set: readonly NewCondition[], now: Date): readonly Condition[] {
  let list = conditions;
  for (const wanted of set) {
    const old = list.find(({ type }) => type === wanted.type);
    if (old !== undefined && isSame(old, wanted)) continue;
    list = [...list.filter(({ type }) => type !== wanted.type), { ...wanted, lastTransitionTime: formatTime(now) }];
  }
  return list === conditions ? conditions : [...list].sort((a, b) => rank(a).localeCompare(rank(b), 'en'));
}

const rank = ({ type }: Condition): string => (type === 'Ready' ? '' : type);

function isSame(old: Condition, wanted: NewCondition): boolean {
  return old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message && old.severity === wanted.severity;
}

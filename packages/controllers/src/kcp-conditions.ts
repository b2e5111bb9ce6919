import { formatTime } from '@capstan/machinery';

/** A condition of kcp's kinds: a true one has no reason or message. */
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

/** A false condition, with the reason and a message for people. */
export function lacks(
  type: string,
  { severity = 'Error', ...why }: { readonly severity?: Condition['severity']; readonly reason: string; readonly message: string },
): NewCondition {
  return { type, status: 'False', severity, ...why };
}

export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditions?.some((one) => one.type === type && one.status === 'True') ?? false;

/** The conditions with these set: `Ready` first, the others by name. The same list is returned if nothing changed. */
export function withConditions(conditions: readonly Condition[] = [], set: readonly NewCondition[], now: Date): readonly Condition[] {
  let list = conditions;
  for (const wanted of set) {
    const old = list.find(({ type }) => type === wanted.type);
    if (old !== undefined && isSame(old, wanted)) continue;
    const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : formatTime(now);
    list = [...list.filter(({ type }) => type !== wanted.type), { ...wanted, lastTransitionTime }];
  }
  return list === conditions ? conditions : [...list].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

const rank = ({ type }: Condition): string => (type === 'Ready' ? '' : type);

function isSame(old: Condition, wanted: NewCondition): boolean {
  return old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message && old.severity === wanted.severity;
}

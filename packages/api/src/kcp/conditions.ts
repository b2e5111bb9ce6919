import { formatTime } from '@capstan/machinery/objects';

/** A condition of kcp's kinds. A condition that is true has neither reason nor message. */
export interface KcpCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly severity?: 'Error' | 'Warning' | 'Info';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

/** A condition before it is known when its status last changed. */
export type NewCondition = Omit<KcpCondition, 'lastTransitionTime'>;

export const holds = (type: string): NewCondition => ({ type, status: 'True' });

/** A condition that is false, with the reason and a message for people. */
export function lacks(
  type: string,
  { severity = 'Error', ...why }: { readonly severity?: KcpCondition['severity']; readonly reason: string; readonly message: string },
): NewCondition {
  return { type, status: 'False', severity, ...why };
}

export const isTrue = (conditions: readonly KcpCondition[] | undefined, type: string): boolean =>
  conditions?.some((one) => one.type === type && one.status === 'True') ?? false;

/** Returns the conditions with these set, in the order that kcp's clients expect: `Ready` first, then by name. Returns the same list if nothing changed. */
export function withConditions(conditions: readonly KcpCondition[] = [], set: readonly NewCondition[], now: Date): readonly KcpCondition[] {
  let list = conditions;
  for (const wanted of set) {
    const old = list.find(({ type }) => type === wanted.type);
    if (old !== undefined && isSame(old, wanted)) continue;
    const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : formatTime(now);
    list = [...list.filter(({ type }) => type !== wanted.type), { ...wanted, lastTransitionTime }];
  }
  return list === conditions ? conditions : [...list].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** New conditions that are all true. */
export function holding(types: readonly string[], now: Date): readonly KcpCondition[] {
  return withConditions([], types.map(holds), now);
}

const rank = ({ type }: KcpCondition): string => (type === 'Ready' ? '' : type);

function isSame(old: KcpCondition, wanted: NewCondition): boolean {
  return old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message && old.severity === wanted.severity;
}

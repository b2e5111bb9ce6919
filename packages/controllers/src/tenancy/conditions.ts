import { formatTime } from '@capstan/machinery';

/** As kcp's kinds have them: what holds needs no reason. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly severity?: 'Error' | 'Warning' | 'Info';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

export const holds = (type: string): Omit<Condition, 'lastTransitionTime'> => ({ type, status: 'True' });

export function lacks(
  type: string,
  why: { readonly severity: 'Error' | 'Warning' | 'Info'; readonly reason: string; readonly message: string },
): Omit<Condition, 'lastTransitionTime'> {
  return { type, status: 'False', ...why };
}

/** The conditions with these set, by name. The same list comes back when nothing changed. */
export function withConditions(
  conditions: readonly Condition[] = [],
  set: readonly Omit<Condition, 'lastTransitionTime'>[],
  now: Date,
): readonly Condition[] {
  let list = conditions;
  for (const wanted of set) {
    const old = list.find(({ type }) => type === wanted.type);
    if (old !== undefined && isSame(old, wanted)) continue;
    const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : formatTime(now);
    list = [...list.filter(({ type }) => type !== wanted.type), { ...wanted, lastTransitionTime }];
  }
  return list === conditions ? conditions : [...list].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function isSame(old: Condition, wanted: Omit<Condition, 'lastTransitionTime'>): boolean {
  return old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message && old.severity === wanted.severity;
}

import { formatTime } from '@capstan/machinery';

/** A condition as kcp's kinds have it: what holds says no more than that. */
export interface KcpCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime: string;
  readonly severity?: 'Error' | 'Warning' | 'Info';
  readonly reason?: string;
  readonly message?: string;
}

/** Conditions that hold, in the order in which kcp's clients expect them: the summary first, then by name. */
export function holding(types: readonly string[], now: Date): KcpCondition[] {
  const byName = (a: string, b: string): number => (a === 'Ready' ? -1 : b === 'Ready' ? 1 : a < b ? -1 : 1);
  return [...types].sort(byName).map((type) => ({ type, status: 'True', lastTransitionTime: formatTime(now) }));
}

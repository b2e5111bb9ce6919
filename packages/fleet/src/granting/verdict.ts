import type { Allocation } from '@capstan/api';

/**
 * The allocation's verdict on one of its attempts. `undecided`: it names none yet. `chosen`: it names this one. `leaving`: it names this
 * one and is being deleted. `rejected`: it names another one, or is being deleted without ever having named one. `gone`: it does not exist.
 */
export type Verdict = 'undecided' | 'chosen' | 'leaving' | 'rejected' | 'gone';

/**
 * Judges an attempt. The allocation must have been read from the server after the booking, not from a cache, before it counts as gone: a
 * cache may not know it yet. A name that was set is never changed, so the other verdicts may be old.
 */
export function verdictOn(attempt: string, allocation: Allocation | undefined): Verdict {
  if (allocation === undefined) return 'gone';
  const named = allocation.status?.attempt;
  const isLeaving = allocation.metadata?.deletionTimestamp !== undefined || allocation.status?.phase === 'Releasing';
  if (named === undefined) return isLeaving || allocation.status?.phase === 'Failed' ? 'rejected' : 'undecided';
  if (named !== attempt) return 'rejected';
  return isLeaving ? 'leaving' : 'chosen';
}

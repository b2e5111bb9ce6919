import type { NodeUnitSpec } from '@capstan/api';
import type { Ending } from '../records/state.ts';
import type { UnitTimes } from './times.ts';

/** Whether a program that ended by itself, or whose end nobody saw, is started again. */
export function restarts({ restartPolicy }: Pick<NodeUnitSpec, 'restartPolicy'>, { reason }: Pick<Ending, 'reason'>): boolean {
  return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && reason !== 'Completed');
}

/** The delay before the next start, in milliseconds. `failures`: ends in a row before this one. */
export function restartDelay(failures: number, { restartDelay: first, longestRestartDelay }: UnitTimes): number {
  return Math.min(first * 2 ** Math.min(failures, 30), longestRestartDelay);
}

/** The ends in a row after a program that ran for so long, in milliseconds, has ended. */
export function failuresAfter(failures: number, ran: number, { wellAfter }: UnitTimes): number {
  return ran >= wellAfter ? 0 : failures + 1;
}

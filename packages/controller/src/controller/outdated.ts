import { isConflict, isNotFound, isTerminating } from '@capstan/client';
import { done, type Result, requeueAfter } from './result.ts';

/** In milliseconds: so long the copy may take to have what somebody else wrote. */
const aMoment = 50;

/**
 * How a reconcile ends whose write failed with `error`. A copy is always a little behind: when somebody else wrote the object, it is looked at again in a moment;
 * when it is gone, or goes with its namespace or workspace, there is nothing left to do. Any other error is thrown.
 */
export function whenOutdated(error: unknown): Result {
  if (isConflict(error)) return requeueAfter(aMoment);
  if (isNotFound(error) || isTerminating(error)) return done;
  throw error;
}

import { isForbidden, isTerminating } from '@capstan/client';
import { type Result, requeueAfter, whenOutdated } from '@capstan/controller';

/** In milliseconds: nobody tells when a workspace can be entered. */
const lookAgain = 5_000;

/** As `whenOutdated`, also when the workspace is on its way in or out: until it is ready, and once it goes, nobody may enter it. */
export function whenShut(error: unknown): Result {
  return isForbidden(error) && !isTerminating(error) ? requeueAfter(lookAgain) : whenOutdated(error);
}

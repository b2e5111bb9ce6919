import { isForbidden, isTerminating } from '@capstan/client';
import { type Result, requeueAfter } from '@capstan/controller';

/** In milliseconds. Nothing announces that a workspace can be entered. */
const lookAgain = 5_000;

/** Looks again later if the workspace cannot be entered: nobody may enter it before it is ready, nor once it is being deleted. */
export async function unlessShut(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isForbidden(error) && !isTerminating(error)) return requeueAfter(lookAgain);
    throw error;
  }
}

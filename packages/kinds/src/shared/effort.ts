import { type FieldError, type FieldPath, fieldError, limitSteps, OutOfSteps } from '@capstan/machinery';

/** The steps that compiling the patterns of one object may take. */
const mostSteps = 20_000_000;

/** Finds the errors of an object whose patterns or expressions are compiled for it, as long as that does not take too long. */
export function errorsWithinReach(at: FieldPath, find: () => FieldError[]): FieldError[] {
  try {
    return limitSteps(mostSteps, find);
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    return [fieldError.forbidden(at, 'the patterns take too long to compile; use fewer, or smaller repetitions')];
  }
}

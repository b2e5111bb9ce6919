import { type FieldError, type FieldPath, fieldError, limitStepsInParts, OutOfSteps, type Parts } from '@capstan/machinery';

/** The steps that compiling the patterns of one object may take. */
const mostSteps = 20_000_000;

/** Finds, in parts, the errors of an object whose patterns or expressions are compiled for it, as long as that does not take too long. */
export function* errorsWithinReach(at: FieldPath, parts: Parts<FieldError[]>): Parts<FieldError[]> {
  try {
    return yield* limitStepsInParts(mostSteps, parts);
  } catch (error) {
    return tooMuch(at, error);
  }
}

function tooMuch(at: FieldPath, error: unknown): FieldError[] {
  if (!(error instanceof OutOfSteps)) throw error;
  return [fieldError.forbidden(at, 'the patterns take too long to compile; use fewer, or smaller repetitions')];
}

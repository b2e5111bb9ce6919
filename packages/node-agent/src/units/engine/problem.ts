import { UnitProblem } from '../drivers/driver.ts';

export function asProblem(error: unknown): UnitProblem {
  return error instanceof UnitProblem
    ? error
    : new UnitProblem('Error', error instanceof Error ? error.message : String(error), { cause: error });
}

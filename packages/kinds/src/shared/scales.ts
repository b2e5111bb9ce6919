import type { FieldPath } from '@capstan/machinery';
import { isAbsent } from '@capstan/machinery';
import type { Findings } from './findings.ts';

const percentage = /^[0-9]+%$/;

/** Validates an integer or percentage, as in disruption budgets and rolling updates. */
export function checkNumberOrPercentage(found: Findings, at: FieldPath, value: unknown): void {
  if (typeof value === 'number') found.nonNegative(at, value);
  else if (typeof value === 'string' && !percentage.test(value)) {
    found.invalid(
      at,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    );
  }
}

export function checkAtMostEverything(found: Findings, at: FieldPath, value: unknown): void {
  if (typeof value === 'string' && percentage.test(value) && Number(value.slice(0, -1)) > 100) {
    found.invalid(at, value, 'must not be greater than 100%');
  }
}

/** Zero, as a number or a percentage. */
export function isNothing(value: unknown): boolean {
  return isAbsent(value) || value === 0 || (typeof value === 'string' && percentage.test(value) && Number(value.slice(0, -1)) === 0);
}

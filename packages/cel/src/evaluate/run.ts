import type { Value } from '../value/value.ts';
import type { Flow } from './task.ts';

/** One evaluation of a program: its variables and its cost so far. */
export class Run {
  /** Declared variables first, then those of comprehensions. */
  readonly slots: Value[];
  readonly limit: number;
  cost = 0;
  /** Those of the parts so far. */
  steps = 0;

  constructor(slots: Value[], limit: number) {
    this.slots = slots;
    this.limit = limit;
  }

  /** Adds to the cost, and stops the evaluation if that exceeds the limit. */
  charge(amount: number): void {
    this.cost += amount;
    if (this.cost > this.limit) throw new CostLimitExceeded();
  }
}

/** Stops an evaluation. Not an error value, because `||` must not absorb it. */
export class CostLimitExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Evaluates a part of an expression: returns its value, or an error as a value. */
export type Step = (run: Run) => Value;

/** A compiled part of an expression. */
export interface Code {
  readonly step: Step;
  /** Does the same in parts; undefined if it never takes long. */
  readonly inParts: ((run: Run) => Flow) | undefined;
}

export function short(step: Step): Code {
  return { step, inParts: undefined };
}

export function isLong({ inParts }: Code): boolean {
  return inParts !== undefined;
}

/** Evaluates in parts what may take long, and anything else at once. */
export function* partsOf({ step, inParts }: Code, run: Run): Flow {
  return inParts === undefined ? step(run) : yield* inParts(run);
}

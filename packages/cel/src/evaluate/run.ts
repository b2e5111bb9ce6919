import type { Value } from '../value/value.ts';

/** One evaluation of a program: its variables and what it has cost so far. */
export class Run {
  /** Declared variables first, then those of comprehensions. */
  readonly slots: Value[];
  readonly limit: number;
  cost = 0;

  constructor(slots: Value[], limit: number) {
    this.slots = slots;
    this.limit = limit;
  }

  /** Adds to the cost, and stops the evaluation where it goes beyond the limit. */
  charge(amount: number): void {
    this.cost += amount;
    if (this.cost > this.limit) throw new CostLimitExceeded();
  }
}

/** Stops an evaluation; not an error value, because `||` must not absorb it. */
export class CostLimitExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** A part of an expression, compiled: computes its value, or gives an error as a value. */
export type Step = (run: Run) => Value;

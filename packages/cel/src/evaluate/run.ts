import type { Value } from '../value/value.ts';

/** One evaluation of a program: its variables and its cost so far. */
export class Run {
  /** Declared variables first, then those of comprehensions. */
  readonly slots: Value[];
  readonly limit: number;
  cost = 0;
  /** Known at the end. */
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

/** A compiled part of an expression: returns its value, or an error as a value. */
export type Step = (run: Run) => Value;

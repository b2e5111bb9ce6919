import { enterLimit, leaveLimit, OutOfSteps, spend } from '@capstan/machinery';
import type { Value } from '../value/value.ts';
import type { Code, Run } from './run.ts';

/**
 * Most of what may take long does not, and takes several times longer in parts. So it is first attempted at once, with a limit of steps. Each of them may be
 * an iteration that visits all parts of the expression. The limit bounds what is done twice.
 */
export function stepsOfAttempt(size: number): number {
  return Math.min(5_000, 100_000 / size);
}

/** Ends an attempt. */
class NeedsParts extends Error {
  override readonly name = 'NeedsParts';
}

const needsParts = new NeedsParts();
let isAttempting = false;

/** To be called before something that lasts and cannot be undone: an attempt ends here, and what called it is evaluated in parts. */
export function leaveAttempt(): void {
  if (isAttempting) throw needsParts;
}

/** Runs an attempt; undefined if it was left. An attempt within another one ends that, too. */
export function attempting<Result>(work: () => Result): Result | undefined {
  if (isAttempting) return work();
  isAttempting = true;
  try {
    return work();
  } catch (error) {
    if (error === needsParts) return undefined;
    throw error;
  } finally {
    isAttempting = false;
  }
}

/** The value, if it takes few steps; undefined if it is to be evaluated in parts, as if nothing of it had been evaluated yet. */
function attempt({ step }: Code, run: Run, stepLimit: number): Value | undefined {
  const { cost } = run;
  const entry = enterLimit(stepLimit);
  let value: Value | undefined;
  let steps = 0;
  isAttempting = true;
  try {
    value = step(run);
  } catch (error) {
    if (error !== needsParts && !(error instanceof OutOfSteps)) throw error;
  } finally {
    isAttempting = false;
    steps = leaveLimit(entry);
  }
  if (value !== undefined && steps <= entry.own) return value;
  spend(-steps);
  run.cost = cost;
  return undefined;
}

/** Attempts of a loop. Where one was left, the next ones are likely to be left, too; so the more of them are left in a row, the longer no other is made. */
export class Attempts {
  readonly #stepLimit: number;
  #pause = 0;
  #left = 0;

  /** For a loop whose body has so many subexpressions. */
  constructor(size: number) {
    this.#stepLimit = stepsOfAttempt(size);
  }

  /** The value; undefined if it is to be evaluated in parts. */
  evaluate(code: Code, run: Run): Value | undefined {
    if (code.inParts === undefined) return code.step(run);
    if (this.#left > 0) {
      this.#left--;
      return undefined;
    }
    const value = attempt(code, run, this.#stepLimit);
    this.#pause = value === undefined ? this.#pause * 2 + 1 : 0;
    this.#left = this.#pause;
    return value;
  }
}

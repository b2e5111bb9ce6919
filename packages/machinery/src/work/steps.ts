/**
 * Counts the work that a stranger's input causes. A step is some ten nanoseconds: an element compared, a node copied, sixteen characters
 * read. Decisions depend on steps and never on the clock, so that the same input always has the same outcome.
 *
 * The counter belongs to the module because all counted work is synchronous: what runs now is what is counted.
 */
const left = new Float64Array([Number.POSITIVE_INFINITY]);

/** How many steps one part of long work takes: some hundred microseconds. */
const stepsPerPart = 20_000;
/** When so many steps are left, the current part ends. */
const atEnd = new Float64Array([Number.POSITIVE_INFINITY]);

/** Characters that are read, compared or copied in one step. */
const charactersPerStep = 16;

/** The work was stopped because it took more steps than it may. */
export class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps';

  constructor() {
    super('the work takes more steps than allowed');
  }
}

/** Counts steps, and stops the work if it has taken too many. Costs nothing worth mentioning outside of `countSteps`. */
export function spend(steps: number): void {
  if ((left[0]! -= steps) < 0) throw new OutOfSteps();
}

/**
 * Whether the current part has taken its steps; then it is time to `yield`, and the next part begins. A part begins, too, with the outermost limit, and
 * so when work goes on after a `yield`. Work that takes time but is not counted is added here: it only decides when others may run.
 */
export function spentPart(uncounted = 0): boolean {
  atEnd[0] = atEnd[0]! + uncounted;
  if (left[0]! > atEnd[0]!) return false;
  atEnd[0] = left[0]! - stepsPerPart;
  return true;
}

/** The same for reading or copying a text. */
export function spendText(characters: number): void {
  if (characters >= charactersPerStep) spend(characters / charactersPerStep);
}

export interface Counted<Result> {
  readonly result: Result;
  readonly steps: number;
}

/** Runs the work with a limit of its own, within that of the work around it. Throws OutOfSteps when it is exceeded. */
export function limitSteps<Result>(limit: number, work: () => Result): Result {
  const entry = enterLimit(limit);
  try {
    return work();
  } finally {
    leaveLimit(entry);
  }
}

/** The state that `enterLimit` set aside. */
export interface LimitEntry {
  readonly outer: number;
  readonly own: number;
}

/** `limitSteps` without a function, for work that runs very often. `leaveLimit` must follow, whatever happens. */
export function enterLimit(limit: number): LimitEntry {
  const outer = left[0]!;
  const own = Math.min(limit, outer);
  left[0] = own;
  atEnd[0] = outer === Number.POSITIVE_INFINITY ? own - stepsPerPart : atEnd[0]! - (outer - own);
  return { outer, own };
}

/** Ends what `enterLimit` began, and returns the steps that were taken. */
export function leaveLimit({ outer, own }: LimitEntry): number {
  const taken = own - left[0]!;
  left[0] = outer - taken;
  atEnd[0] = atEnd[0]! + (outer - own);
  return taken;
}

/** Counts the steps of work, which may take any number of them. */
export function countSteps<Result>(work: () => Result): Counted<Result> {
  const entry = enterLimit(Number.MAX_SAFE_INTEGER);
  let steps = 0;
  let result: Result;
  try {
    result = work();
  } finally {
    steps = leaveLimit(entry);
  }
  return { result, steps };
}

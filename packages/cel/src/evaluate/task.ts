import { enterLimit, leaveLimit, type Parts } from '@capstan/machinery';
import type { Value } from '../value/value.ts';
import type { Run } from './run.ts';

/** Parts of an evaluation. Where it yields a task, that must be done before it can go on; elsewhere, others may run. */
export type Flow<Result = Value> = Generator<unknown, Result>;

export interface TaskOptions {
  /** The most steps that it may take, those of the tasks that it needs included. */
  readonly limit: number;
  /** The number of subexpressions. */
  readonly size: number;
  readonly run: Run;
  /** Returns a task that must be done first; undefined if there is none any more. */
  readonly before: () => Task | undefined;
  /** Begins. The flow returns how it ends, which is called once its steps are known. */
  readonly begin: () => Flow<() => void>;
}

/**
 * The evaluation of a program in parts. A chain of variables is a chain of tasks, each of which needs the next one. They do not run inside each other: the stack
 * has no room for a long chain. And they begin from its end, so that few are suspended.
 */
export class Task {
  readonly size: number;
  readonly #run: Run;
  readonly #options: TaskOptions;
  #flow: Flow<() => void> | undefined;
  #limit: number;
  #end: (() => void) | undefined;

  constructor(options: TaskOptions) {
    this.#options = options;
    this.#limit = options.limit;
    this.size = options.size;
    this.#run = options.run;
  }

  get steps(): number {
    return this.#run.steps;
  }

  get isDone(): boolean {
    return this.#end !== undefined;
  }

  /** Goes on; returns a task that must be done first, if it needs one. */
  resume(): Task | undefined {
    if (this.#flow === undefined) {
      const before = this.#options.before();
      if (before !== undefined) return before;
      this.#flow = this.#options.begin();
    }
    const entry = enterLimit(this.#limit - this.#run.steps);
    try {
      const part = this.#flow.next();
      if (!part.done) return part.value instanceof Task ? part.value : undefined;
      this.#end = part.value;
      return undefined;
    } finally {
      this.#run.steps += leaveLimit(entry);
    }
  }

  /** Another task needs this one, and its limit holds for both. */
  limitBy(other: Task): void {
    this.#limit = Math.min(this.#limit, other.#limit - other.steps);
  }

  /** Ends, and charges the task that needed this one. */
  end(other: Task | undefined): void {
    if (other !== undefined) other.#run.steps += this.steps;
    this.#end!();
  }
}

/** So many steps are taken before others may run, where tasks are short; and so many are as long as it takes to begin and end one. */
const stepsOfShortTasks = 10_000;
const stepsOfTask = 100;

/** Does a task and all tasks that it needs. */
export function* perform(root: Task): Parts<void> {
  const tasks = [root];
  let steps = 0;
  for (let task: Task | undefined = root; task !== undefined; task = tasks.at(-1)) {
    const before = task.steps;
    const needed = task.resume();
    steps += task.steps - before;
    const isPause = needed === undefined && !task.isDone;
    if (needed !== undefined) {
      needed.limitBy(task);
      steps += stepsOfTask + needed.size;
      tasks.push(needed);
    } else if (task.isDone) {
      tasks.pop();
      task.end(tasks.at(-1));
    }
    if (!isPause && steps < stepsOfShortTasks) continue;
    steps = 0;
    yield;
  }
}

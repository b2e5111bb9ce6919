import type { AppStep } from '@capstan/api';
import { printable } from '../units/words.ts';
import { stepLines } from './words.ts';

export interface FollowedStepsOptions {
  readonly write: (line: string) => void;
  /** Sends the output of a step line by line, until the step has ended. */
  readonly follow: (step: AppStep, onLine: (line: string) => void) => Promise<void>;
  /** The node of each member. */
  readonly nodes: ReadonlyMap<string, string>;
}

const endStates: ReadonlySet<AppStep['state']> = new Set(['succeeded', 'failed', 'cancelled', 'skipped']);

/** Prints the steps of an operation as they begin and end. The output of each attempt is between the two; steps of one stage run side by side, so each line names its member. */
export class FollowedSteps {
  readonly #options: FollowedStepsOptions;
  readonly #lines = new Map<string, string>();
  readonly #outputs = new Map<string, Promise<void>>();
  #problem: unknown;

  constructor(options: FollowedStepsOptions) {
    this.#options = options;
  }

  /** To be called with every state of the steps. */
  see(steps: readonly AppStep[]): void {
    for (const step of steps.toSorted((one, other) => one.stage - other.stage)) {
      const [line = ''] = stepLines([step], this.#options.nodes);
      if (step.state === 'pending' || this.#lines.get(step.id) === line) continue;
      this.#lines.set(step.id, line);
      const isOver = endStates.has(step.state);
      if (!isOver) this.#options.write(line);
      const output = this.#follow(step);
      // A step has ended when all of its output is there.
      if (isOver)
        this.#outputs.set(
          `${step.id} ended ${line}`,
          Promise.resolve(output).then(() => this.#options.write(line)),
        );
    }
  }

  /** Resolves when everything is printed. Rejects if an output could not be read. */
  async ended(): Promise<void> {
    await Promise.all(this.#outputs.values());
    if (this.#problem !== undefined) throw this.#problem;
  }

  #follow(step: AppStep): Promise<void> | undefined {
    const { id, node, task, member, attempts = 1, state } = step;
    if (node === undefined || task === undefined || state === 'skipped') return undefined;
    const attempt = `${id} ${attempts}`;
    const place = member ?? node;
    const known = this.#outputs.get(attempt);
    if (known !== undefined) return known;
    const read = this.#options.follow(step, (line) => this.#options.write(`    ${place} | ${printable(line)}`));
    const output = read.catch((error: unknown) => void (this.#problem ??= error));
    this.#outputs.set(attempt, output);
    return output;
  }
}

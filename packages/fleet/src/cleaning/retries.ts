import type { NodeTask } from '@capstan/api';
import { type BackoffLimits, backoffAfter } from '@capstan/machinery';

/** In milliseconds: a minute after the first failure, and at most an hour. */
const standard: BackoffLimits = { base: 60_000, max: 3_600_000 };
/** The highest that the kind allows. */
const mostAttempts = 1000;

export interface RetryOptions {
  readonly backoff?: BackoffLimits | undefined;
  readonly now: () => number;
}

interface Failure {
  readonly attempt: number;
  /** When it was first seen here: the clocks of nodes differ. */
  readonly since: number;
}

/** Knows when cleanings that have failed are tried again. In memory only: after a restart, they wait once more. */
export class Retries {
  readonly #options: RetryOptions;
  /** By node, then by name of the task. */
  readonly #failures = new Map<string, ReadonlyMap<string, Failure>>();

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** The tasks of a node that are due now, and the milliseconds until the next one is. All that have failed must be given. */
  look(node: string, failed: readonly NodeTask[]): { readonly due: readonly NodeTask[]; readonly wait: number | undefined } {
    const { now, backoff = standard } = this.#options;
    const before = this.#failures.get(node);
    const failures = new Map<string, Failure>();
    const due: NodeTask[] = [];
    let wait: number | undefined;
    for (const task of failed.filter(mayHelp)) {
      const { name = '' } = task.metadata;
      const { attempt } = task.spec;
      const known = before?.get(name);
      const failure = known?.attempt === attempt ? known : { attempt, since: now() };
      failures.set(name, failure);
      const left = failure.since + backoffAfter(attempt - 1, backoff) - now();
      if (left <= 0) due.push(task);
      else wait = Math.min(left, wait ?? left);
    }
    if (failures.size > 0) this.#failures.set(node, failures);
    else this.#failures.delete(node);
    return { due, wait };
  }
}

/** Whether another attempt may succeed. One that was cancelled, or of which nobody knows how far it came, is left to people. */
function mayHelp({ spec, status }: NodeTask): boolean {
  return status?.phase === 'Failed' && status.error?.retryable === true && spec.attempt < mostAttempts;
}

import { readFileSync } from 'node:fs';

/** One look at a process that is asked for an answer again and again. Times in milliseconds. */
export interface Look {
  /** Since the last look, by the clock of the supervisor. */
  readonly elapsed: number;
  readonly hasAnswered: boolean;
  /** Undefined where the system does not tell. */
  readonly usage: ProcessUsage | undefined;
}

export interface ProcessUsage {
  /** All processor time of the process so far, in milliseconds. */
  readonly processor: number;
  /** Whether somebody has suspended it, such as a debugger. */
  readonly isStopped: boolean;
}

export interface SilenceLimits {
  /** The time between two questions. */
  readonly interval: number;
  /** A process that is silent for this long, and has had this much processor time, hangs. */
  readonly silence: number;
  readonly work: number;
  /** A process that is silent for this long hangs, whatever time it had: it may be blocked in a call. */
  readonly longest: number;
}

export const defaultSilence: SilenceLimits = { interval: 2_000, silence: 20_000, work: 10_000, longest: 90_000 };

/**
 * Decides whether a process hangs. A machine that was suspended, or is so busy that the supervisor itself is late, says nothing about the
 * process: a look counts for no more than the time between two questions. A process that got little processor time was not hanging, but waiting
 * for its turn.
 */
export class Silence {
  readonly #limits: SilenceLimits;
  #silent = 0;
  #processor: number | undefined;

  constructor(limits: SilenceLimits) {
    this.#limits = limits;
  }

  /** For how long the process has been silent, if it hangs. */
  look({ elapsed, hasAnswered, usage }: Look): number | undefined {
    const { interval, silence, work, longest } = this.#limits;
    if (hasAnswered || usage?.isStopped === true) {
      this.#silent = 0;
      this.#processor = usage?.processor;
      return undefined;
    }
    this.#silent += Math.min(elapsed, interval);
    const worked = usage === undefined || this.#processor === undefined ? 0 : usage.processor - this.#processor;
    return this.#silent >= longest || (this.#silent >= silence && worked >= work) ? this.#silent : undefined;
  }
}

/** The kernel counts in hundredths of a second, whatever its own clock. */
const tick = 10;

export function usageOf(pid: number): ProcessUsage | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before may have any characters, even brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { processor: (Number(fields[11]) + Number(fields[12])) * tick, isStopped: fields[0] === 'T' || fields[0] === 't' };
  } catch {
    return undefined;
  }
}

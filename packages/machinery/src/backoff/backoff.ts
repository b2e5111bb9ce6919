/** In milliseconds: the first wait, and the longest. */
export interface BackoffLimits {
  readonly base: number;
  readonly max: number;
}

export interface BackoffOptions extends BackoffLimits {
  /** Shortens each wait by up to half, so that clients that failed together do not return together. Without it every wait has its full length. */
  readonly random?: () => number;
}

/** The wait after this many earlier failures in a row, in milliseconds: it doubles with each of them, up to the limit. */
export function backoffAfter(failures: number, { base, max }: BackoffLimits): number {
  return Math.min(max, base * 2 ** Math.min(failures, 52));
}

/** Counts failures in a row and says how long to wait after each. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const wait = backoffAfter(this.#failures++, this.#options);
    const { random } = this.#options;
    return random === undefined ? wait : wait * (0.5 + random() / 2);
  }

  /** Starts again with the first wait, after a success. */
  reset(): void {
    this.#failures = 0;
  }
}

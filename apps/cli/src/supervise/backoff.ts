export interface BackoffOptions {
  readonly first: number;
  readonly longest: number;
  /** A process that lived this long restarts as if it had never failed. */
  readonly healthyAfter: number;
}

/** How long to wait before restarting a process, in milliseconds. Doubles with each early exit. */
export class Backoff {
  readonly #options: BackoffOptions;
  #next: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#next = options.first;
  }

  /** The wait after a process that lived for `lived` milliseconds. */
  after(lived: number): number {
    if (lived >= this.#options.healthyAfter) this.#next = this.#options.first;
    const wait = this.#next;
    this.#next = Math.min(wait * 2, this.#options.longest);
    return wait;
  }
}

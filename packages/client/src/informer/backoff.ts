/** Waits that double up to a limit, each shortened by a random part, so that clients which failed together do not return together. */
export class Backoff {
  readonly #options: { readonly base: number; readonly max: number; readonly random: () => number };
  #next: number;

  constructor(options: { readonly base: number; readonly max: number; readonly random: () => number }) {
    this.#options = options;
    this.#next = options.base;
  }

  /** In milliseconds. */
  next(): number {
    const wait = this.#next * (0.5 + this.#options.random() / 2);
    this.#next = Math.min(this.#options.max, this.#next * 2);
    return wait;
  }

  reset(): void {
    this.#next = this.#options.base;
  }
}

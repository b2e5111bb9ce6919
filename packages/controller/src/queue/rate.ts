export interface RateOptions {
  readonly perSecond: number;
  readonly burst: number;
}

/** Lets `burst` pass at once and `perSecond` after that; tells each comer how long to wait. */
export class TokenBucket {
  readonly #options: RateOptions;
  #tokens: number;
  #at: number;

  constructor(options: RateOptions, now: number) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#at = now;
  }

  /** Takes a place; in milliseconds until it is that place's turn. */
  reserve(now: number): number {
    const { perSecond, burst } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond) - 1;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }

  /** Takes a place only when it is free now. */
  tryTake(now: number): boolean {
    const { perSecond, burst } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

export interface RateOptions {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket: allows `burst` at once and then `perSecond`. */
export class TokenBucket {
  readonly #options: RateOptions;
  #tokens: number;
  #at: number;

  constructor(options: RateOptions, now: number) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#at = now;
  }

  /** Takes a token and returns the milliseconds until it is available. */
  reserve(now: number): number {
    const { perSecond, burst } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond) - 1;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }

  /** Takes a token only if one is available now. */
  tryTake(now: number): boolean {
    const { perSecond, burst } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * perSecond);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

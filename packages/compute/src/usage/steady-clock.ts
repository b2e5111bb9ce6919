/** Where a clock reads the time, in milliseconds. */
export interface TimeSources {
  /** Since 1970. People and time servers change it. */
  readonly wall: () => number;
  /** Since any moment. It only grows, and nobody changes it. */
  readonly monotonic: () => number;
}

export const systemTime: TimeSources = { wall: Date.now, monotonic: () => performance.now() };

/**
 * A clock for lengths of time: it starts with the time of the machine and goes on by itself, so a change of the machine's clock neither adds nor takes time. `notBefore`
 * is the latest time that was written before this process started.
 */
export class SteadyClock {
  readonly #sources: TimeSources;
  readonly #offset: number;

  constructor(sources: TimeSources, notBefore = 0) {
    this.#sources = sources;
    this.#offset = Math.max(sources.wall(), notBefore) - sources.monotonic();
  }

  readonly now = (): number => Math.floor(this.#sources.monotonic() + this.#offset);
}

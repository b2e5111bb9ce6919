export interface HandshakeLimits {
  /** How many handshakes start in a second, after a `burst`. Each takes up to a millisecond of the event loop. */
  readonly perSecond: number;
  readonly burst: number;
  /** How many wait for their turn, in total and from one source. */
  readonly maxWaiting: number;
  readonly maxWaitingPerSource: number;
}

export const defaultHandshakes: HandshakeLimits = { perSecond: 500, burst: 200, maxWaiting: 4_000, maxWaitingPerSource: 2_000 };

/** How many start in one turn of the event loop. */
const inOneTurn = 2;

/**
 * Starts TLS handshakes a few at a time, so that a flood of them delays nobody who is connected. Sources take turns, so that it delays few who
 * connect. Those that wait too long end by the timeout of their connection.
 */
export class Handshakes implements Disposable {
  readonly #limits: HandshakeLimits;
  readonly #now: () => number;
  /** By source, in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #count = 0;
  #tokens: number;
  #refilledAt: number;
  #next: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Partial<HandshakeLimits> = {}, now: () => number = () => performance.now()) {
    this.#limits = { ...defaultHandshakes, ...limits };
    this.#now = now;
    this.#tokens = this.#limits.burst;
    this.#refilledAt = now();
  }

  get waiting(): number {
    return this.#count;
  }

  /** Calls `start` when it is the turn of this source: at once if nobody waits. Returns false if too many wait. */
  request(source: string, start: () => void): boolean {
    if (this.#count === 0 && this.#next === undefined && this.#take()) {
      this.#schedule();
      start();
      return true;
    }
    const own = this.#waiting.get(source);
    if (this.#count >= this.#limits.maxWaiting || (own?.length ?? 0) >= this.#limits.maxWaitingPerSource) return false;
    if (own === undefined) this.#waiting.set(source, [start]);
    else own.push(start);
    this.#count++;
    this.#schedule();
    return true;
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#next);
    clearTimeout(this.#timer);
    this.#waiting.clear();
    this.#count = 0;
  }

  #take(): boolean {
    const { perSecond, burst } = this.#limits;
    const now = this.#now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / 1000) * perSecond);
    this.#refilledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  #schedule(): void {
    if (this.#timer === undefined) this.#next ??= setImmediate(this.#work);
  }

  #work = (): void => {
    this.#next = undefined;
    this.#timer = undefined;
    for (let left = inOneTurn; left > 0 && this.#count > 0; left--) {
      if (!this.#take()) {
        this.#timer = setTimeout(this.#work, Math.ceil(1000 / this.#limits.perSecond));
        return;
      }
      this.#startNext();
    }
    if (this.#count > 0) this.#schedule();
  };

  #startNext(): void {
    for (const [source, starts] of this.#waiting) {
      const start = starts.shift()!;
      this.#waiting.delete(source);
      if (starts.length > 0) this.#waiting.set(source, starts);
      this.#count--;
      return start();
    }
  }
}

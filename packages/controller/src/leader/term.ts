/** Two clocks. Neither alone notices everything: the monotonic one may stand still while a machine sleeps, the other may be set. */
export interface Clock {
  /** Milliseconds from some moment on, never set. */
  readonly monotonic: () => number;
  /** Milliseconds since 1970. */
  readonly wall: () => number;
}

export const systemClock: Clock = { monotonic: () => performance.now(), wall: () => Date.now() };

export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const momentOf = (clock: Clock): Moment => ({ monotonic: clock.monotonic(), wall: clock.wall() });

/** The more that passed by either clock: to believe in too much time only means to stop early. */
function elapsed(clock: Clock, since: Moment): number {
  return Math.max(clock.monotonic() - since.monotonic, clock.wall() - since.wall);
}

export class NotLeadingError extends Error {
  constructor() {
    super('this process does not lead any more, so it must not write; another one may have taken over');
    this.name = 'NotLeadingError';
  }
}

/** One time of leading. Once over it stays over. */
export interface Term {
  /** Grows with every term of anyone: what is written may carry it, so that late writes of an old leader can be told. */
  readonly token: number;
  /** Aborted when work must stop, because leading ended or the process is asked to end. */
  readonly signal: AbortSignal;
  /** Aborted only when leading ended: what is under way must be dropped at once. */
  readonly lost: AbortSignal;
  /** Looks at the clocks. A process that was paused must ask before it goes on: its timers may fire late. */
  isLeading(): boolean;
  /** Throws `NotLeadingError` unless leading. */
  assertLeading(): void;
}

export class HeldTerm implements Term {
  readonly token: number;
  readonly #stop = new AbortController();
  readonly #gone = new AbortController();
  readonly #clock: Clock;
  readonly #deadline: number;
  #renewed: Moment;

  constructor(options: { readonly token: number; readonly clock: Clock; readonly deadline: number; readonly since: Moment }) {
    this.token = options.token;
    this.#clock = options.clock;
    this.#deadline = options.deadline;
    this.#renewed = options.since;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lost(): AbortSignal {
    return this.#gone.signal;
  }

  /** In milliseconds until it ends unless renewed. */
  get remaining(): number {
    return this.#deadline - elapsed(this.#clock, this.#renewed);
  }

  isLeading(): boolean {
    if (!this.#gone.signal.aborted && this.remaining <= 0) this.lose();
    return !this.#gone.signal.aborted;
  }

  assertLeading(): void {
    if (!this.isLeading()) throw new NotLeadingError();
  }

  /** `sentAt` is from before the renewal was sent: whoever sees it sees it later. */
  renewed(sentAt: Moment): void {
    if (this.isLeading()) this.#renewed = sentAt;
  }

  lose(): void {
    this.#gone.abort();
    this.stop();
  }

  /** Work must stop, but nobody else leads yet. */
  stop(): void {
    this.#stop.abort();
  }
}

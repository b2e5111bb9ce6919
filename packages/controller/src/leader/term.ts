/** Two clocks. Neither is enough: the monotonic one may stop while a machine sleeps, and the wall clock may be adjusted. */
export interface Clock {
  /** Milliseconds since an arbitrary moment; never adjusted. */
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

/** The larger of the times that passed on the two clocks: an overestimate only means stopping early. */
function elapsed(clock: Clock, since: Moment): number {
  return Math.max(clock.monotonic() - since.monotonic, clock.wall() - since.wall);
}

export class NotLeadingError extends Error {
  constructor() {
    super('this process does not lead any more, so it must not write; another one may have taken over');
    this.name = 'NotLeadingError';
  }
}

/** One period of leading. Once it has ended it never resumes. */
export interface Term {
  /** Grows with every term of any process. Writes can carry it, so that late writes of an old leader can be recognized. */
  readonly token: number;
  /** Aborted when work must stop, because the term ended or the process shuts down. */
  readonly signal: AbortSignal;
  /** Aborted only when the term ended: running work must be dropped at once. */
  readonly lost: AbortSignal;
  /** Checks the clocks. A process that was paused must call this before it continues: its timers may fire late. */
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

  /** Milliseconds until the term ends unless it is renewed. */
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

  /** `sentAt` is from before the renewal was sent, so every other process sees it later. */
  renewed(sentAt: Moment): void {
    if (this.isLeading()) this.#renewed = sentAt;
  }

  lose(): void {
    this.#gone.abort();
    this.stop();
  }

  /** Stops the work while no other process leads yet. */
  stop(): void {
    this.#stop.abort();
  }
}

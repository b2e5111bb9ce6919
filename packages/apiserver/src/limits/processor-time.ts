/** In milliseconds: used time counts for half after this long. */
const halfLife = 5_000;
/** Tenants that have used less than this, in milliseconds, are like new ones. */
const forgettable = 0.5;
/** How many tenants are remembered before those that have used little are forgotten. */
const manyTenants = 1_000;

interface Usage {
  /** In milliseconds, as of `at`. */
  used: number;
  at: number;
  /** In the current turn of the event loop. */
  turn: number;
  inTurn: number;
}

export interface ProcessorTimeOptions {
  readonly now?: () => number;
  /** Calls back when the current work is done, and everything that follows from it without waiting. */
  readonly afterWork?: (callback: () => void) => void;
  /** Calls back in the next turn of the event loop. */
  readonly nextTurn?: (callback: () => void) => void;
}

/**
 * How much time on the event loop each tenant has used lately. Requests run in pieces, between which they wait; a piece is charged from `begin`
 * until nothing more follows from it without waiting, or until another one begins.
 */
export class ProcessorTime {
  readonly #now: () => number;
  readonly #afterWork: (callback: () => void) => void;
  readonly #nextTurn: (callback: () => void) => void;
  readonly #tenants = new Map<string, Usage>();
  #current: Usage | undefined;
  #since = 0;
  #turn = 0;
  #isTurnOpen = false;
  #isEndDue = false;

  constructor(options: ProcessorTimeOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#afterWork = options.afterWork ?? ((callback) => queueMicrotask(() => process.nextTick(callback)));
    this.#nextTurn = options.nextTurn ?? ((callback) => void setImmediate(callback));
  }

  /** From now on, somebody else works for this tenant. */
  begin(tenant: string): void {
    const now = this.#now();
    if (this.#current !== undefined) this.#charge(this.#current, now);
    this.#current = this.#usageOf(tenant, now);
    this.#since = now;
    if (!this.#isEndDue) {
      this.#isEndDue = true;
      this.#afterWork(this.#end);
    }
    if (!this.#isTurnOpen) {
      this.#isTurnOpen = true;
      this.#nextTurn(this.#endTurn);
    }
  }

  /** In milliseconds: lately, where earlier use counts less. */
  used(tenant: string): number {
    const usage = this.#tenants.get(tenant);
    return usage === undefined ? 0 : usage.used * 2 ** ((usage.at - this.#now()) / halfLife);
  }

  /** In milliseconds: in the current turn of the event loop, without the piece that is running. */
  usedInTurn(tenant: string): number {
    const usage = this.#tenants.get(tenant);
    return usage === undefined || usage.turn !== this.#turn ? 0 : usage.inTurn;
  }

  get tenants(): number {
    return this.#tenants.size;
  }

  #end = (): void => {
    this.#isEndDue = false;
    if (this.#current !== undefined) this.#charge(this.#current, this.#now());
    this.#current = undefined;
  };

  #endTurn = (): void => {
    this.#isTurnOpen = false;
    this.#turn++;
  };

  #charge(usage: Usage, now: number): void {
    const spent = now - this.#since;
    usage.used = usage.used * 2 ** ((usage.at - now) / halfLife) + spent;
    usage.at = now;
    if (usage.turn !== this.#turn) {
      usage.turn = this.#turn;
      usage.inTurn = 0;
    }
    usage.inTurn += spent;
  }

  #usageOf(tenant: string, now: number): Usage {
    let usage = this.#tenants.get(tenant);
    if (usage === undefined) {
      if (this.#tenants.size >= manyTenants) this.#forget(now);
      this.#tenants.set(tenant, (usage = { used: 0, at: now, turn: this.#turn, inTurn: 0 }));
    }
    return usage;
  }

  #forget(now: number): void {
    for (const [name, { used, at }] of this.#tenants) if (used * 2 ** ((at - now) / halfLife) < forgettable) this.#tenants.delete(name);
    // All of them are busy: start over, rather than search again for each new one.
    if (this.#tenants.size >= manyTenants) this.#tenants.clear();
  }
}

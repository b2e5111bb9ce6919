import { addAmounts, type KubeObject, type Quantity, StatusError, subtractQuantities, writeAmounts } from '@capstan/machinery';
import { type Decision, decide } from './decide.ts';
import type { Demand } from './demand.ts';
import { type Limit, readLimit } from './limit.ts';

/** Reads and writes the quotas of one namespace. */
export interface Accounts {
  /** The latest known version of every quota. */
  read(): readonly Limit[];
  /** Applies `change` to the latest version of the quota and writes the result. After a conflict, `change` is called again. */
  write(name: string, change: (quota: KubeObject) => KubeObject): Promise<void>;
}

interface Waiter {
  readonly demand: Demand;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** The amounts already charged, by quota. */
  readonly paid: Map<string, ReadonlyMap<string, Quantity>>;
  isDecided: boolean;
}

/**
 * Charges demands to the quotas of one namespace before the objects are stored, so that a quota is never exceeded, whoever else writes it.
 * Demands that arrive during a write wait for it, and are then charged together.
 */
export class Ledger {
  readonly #accounts: Accounts;
  readonly #onIdle: () => void;
  #waiting: Waiter[] = [];
  #isRunning = false;

  constructor(accounts: Accounts, onIdle: () => void) {
    this.#accounts = accounts;
    this.#onIdle = onIdle;
  }

  /** Resolves when the demand is charged; rejects if it does not fit. */
  charge(demand: Demand): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ demand, resolve, reject, paid: new Map(), isDecided: false });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#settle(batch);
      } catch (error) {
        for (const waiter of batch) refuse(waiter, error);
      }
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  async #settle(batch: readonly Waiter[]): Promise<void> {
    const charged = new Set<string>();
    const limits = this.#accounts.read();
    chargeInTurn(batch, limits, (waiter, decision) => {
      if (decision.type === 'refused') refuse(waiter, decision.error);
      else if (decision.type === 'free') admit(waiter);
      else for (const { limit } of decision.shares) charged.add(limit.name);
    });
    for (const name of charged) await this.#charge(name, batch);
    for (const waiter of batch) admit(waiter);
    await this.#refund(batch.filter(({ paid }) => paid.size > 0));
  }

  /**
   * Charges one quota for all demands that are still undecided. Its latest version counts, because others may have written it meanwhile.
   */
  async #charge(name: string, batch: readonly Waiter[]): Promise<void> {
    const hoping = batch.filter(({ isDecided }) => !isDecided);
    let outcome = new Map<Waiter, Decision>();
    const change = (quota: KubeObject): KubeObject => {
      outcome = new Map();
      const used = chargeInTurn(hoping, [readLimit(quota)], (waiter, decision) => outcome.set(waiter, decision));
      return withUsed(quota, used.get(name)!);
    };
    try {
      await this.#accounts.write(name, change);
    } catch (error) {
      // A deleted quota limits nothing.
      if (error instanceof StatusError && error.reason === 'NotFound') return;
      for (const waiter of hoping) refuse(waiter, error);
      return;
    }
    for (const [waiter, decision] of outcome) {
      if (decision.type === 'refused') refuse(waiter, decision.error);
      else if (decision.type === 'charged') waiter.paid.set(name, new Map(decision.shares[0]!.amounts));
    }
  }

  /** Refunds charges for demands that a later quota rejected. */
  async #refund(waiters: readonly Waiter[]): Promise<void> {
    const names = new Set(waiters.flatMap(({ paid }) => [...paid.keys()]));
    for (const name of names) {
      const change = (quota: KubeObject): KubeObject => {
        const used = new Map(readLimit(quota).used);
        for (const { paid } of waiters) for (const [what, amount] of paid.get(name) ?? []) lower(used, what, amount);
        return withUsed(quota, used);
      };
      // If this fails, the quota controller corrects the usage when it recalculates.
      await this.#accounts.write(name, change).catch(() => {});
    }
  }
}

/** Decides demands in order, each on top of the previous ones. Returns the resulting usage. */
function chargeInTurn(
  waiters: readonly Waiter[],
  limits: readonly Limit[],
  tell: (waiter: Waiter, decision: Decision) => void,
): ReadonlyMap<string, ReadonlyMap<string, Quantity>> {
  const running = new Map(limits.map(({ name, used }) => [name, new Map(used)]));
  for (const waiter of waiters) {
    const decision = decide(waiter.demand, limits, running);
    if (decision.type === 'charged') for (const { limit, amounts } of decision.shares) addAmounts(running.get(limit.name)!, amounts);
    tell(waiter, decision);
  }
  return running;
}

function lower(used: Map<string, Quantity>, name: string, amount: Quantity): void {
  const now = used.get(name);
  if (now === undefined) return;
  const left = subtractQuantities(now, amount);
  used.set(name, left.value < 0n ? { ...left, value: 0n } : left);
}

function withUsed(quota: KubeObject, used: ReadonlyMap<string, Quantity>): KubeObject {
  return { ...quota, status: { ...(quota['status'] as object | undefined), used: writeAmounts(used) } };
}

function admit(waiter: Waiter): void {
  if (waiter.isDecided) return;
  waiter.isDecided = true;
  // Charges of admitted demands are not refunded.
  waiter.paid.clear();
  waiter.resolve();
}

function refuse(waiter: Waiter, error: unknown): void {
  if (waiter.isDecided) return;
  waiter.isDecided = true;
  waiter.reject(error);
}

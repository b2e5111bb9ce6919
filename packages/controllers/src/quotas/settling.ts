import {
  type Amounts,
  addQuantities,
  compareQuantities,
  type KubeObject,
  type Quantity,
  readAmounts,
  subtractQuantities,
  zeroQuantity,
} from '@capstan/machinery';

/** The part of a quota's usage that may be for objects that are not visible yet. */
export interface Pending {
  /** Undefined if it is not known: it may be all of it. */
  readonly amount: Quantity | undefined;
  /** In milliseconds, until the amount may shrink; 0 if nothing is pending. */
  readonly wait: number;
}

interface Entry {
  readonly at: number;
  amount: Quantity;
}

/** Charges without a visible object, and new objects without a visible charge: the two arrive through different watches, in any order. */
interface Account {
  readonly charges: Entry[];
  readonly objects: Entry[];
}

const nothing: Pending = { amount: zeroQuantity, wait: 0 };

/**
 * The API server charges a quota before it stores the object, so a recent charge may be for an object that is not visible yet and must not be taken back.
 * Charges are set off against new objects as both arrive. A charge that is left over after a while was for an object that was never stored.
 */
export class Settling {
  readonly #accounts = new Map<string, Map<string, Account>>();
  readonly #settles: number;
  readonly #now: () => number;
  /** Quotas that existed before this process, and when it first saw them. */
  readonly #inherited = new Map<string, number>();

  /** Both in milliseconds; the clock is monotonic. */
  constructor(settles: number, now: () => number) {
    this.#settles = settles;
    this.#now = now;
  }

  /** Notes a quota that existed before this process, so that its recent charges are unknown. */
  inherit(key: string): void {
    this.#inherited.set(key, this.#now());
  }

  /** Notes the usage that a new version of a quota has raised. */
  charged(key: string, old: KubeObject, quota: KubeObject): void {
    const before = usedOf(old);
    for (const [name, amount] of usedOf(quota)) {
      const was = before.get(name);
      if (was === undefined || compareQuantities(amount, was) <= 0) continue;
      const { charges, objects } = this.#account(key, name);
      this.#setOff(subtractQuantities(amount, was), objects, charges);
    }
  }

  /** Notes a new object that the quota limits. */
  created(key: string, usage: Amounts): void {
    for (const [name, amount] of usage) {
      if (amount.value <= 0n) continue;
      const { charges, objects } = this.#account(key, name);
      this.#setOff(amount, charges, objects);
    }
  }

  forget(key: string): void {
    this.#accounts.delete(key);
    this.#inherited.delete(key);
  }

  pending(key: string, name: string): Pending {
    const now = this.#now();
    const seen = this.#inherited.get(key);
    if (seen !== undefined && now < seen + this.#settles) return { amount: undefined, wait: seen + this.#settles - now };
    this.#inherited.delete(key);
    const accounts = this.#accounts.get(key);
    const account = accounts?.get(name);
    if (accounts === undefined || account === undefined) return nothing;
    this.#expire(account);
    const [oldest] = account.charges;
    if (oldest !== undefined)
      return { amount: account.charges.map(({ amount }) => amount).reduce(addQuantities), wait: oldest.at + this.#settles - now };
    if (account.objects.length === 0) accounts.delete(name);
    if (accounts.size === 0) this.#accounts.delete(key);
    return nothing;
  }

  #account(key: string, name: string): Account {
    let accounts = this.#accounts.get(key);
    if (accounts === undefined) this.#accounts.set(key, (accounts = new Map()));
    let account = accounts.get(name);
    if (account === undefined) accounts.set(name, (account = { charges: [], objects: [] }));
    this.#expire(account);
    return account;
  }

  #setOff(given: Quantity, against: Entry[], rest: Entry[]): void {
    let left = given;
    for (let first = against[0]; first !== undefined && left.value > 0n; first = against[0]) {
      const difference = subtractQuantities(first.amount, left);
      left = subtractQuantities(left, first.amount);
      if (difference.value > 0n) first.amount = difference;
      else against.shift();
    }
    if (left.value > 0n) rest.push({ at: this.#now(), amount: left });
  }

  #expire({ charges, objects }: Account): void {
    const end = this.#now() - this.#settles;
    for (const entries of [charges, objects]) while (entries.length > 0 && entries[0]!.at <= end) entries.shift();
  }
}

function usedOf(quota: KubeObject): ReturnType<typeof readAmounts> {
  return readAmounts((quota['status'] as { used?: unknown } | undefined)?.used);
}

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

/** What of a quota's usage may be for objects that nobody can see yet. */
export interface Pending {
  /** Undefined when nobody knows: all of it, then. */
  readonly amount: Quantity | undefined;
  /** In milliseconds, until less may be; 0 when nothing is pending. */
  readonly wait: number;
}

interface Entry {
  readonly at: number;
  amount: Quantity;
}

/** Charges that no new object was seen for, and new objects that no charge was seen for: the two come by different ways, in any order. */
interface Account {
  readonly charges: Entry[];
  readonly objects: Entry[];
}

const nothing: Pending = { amount: zeroQuantity, wait: 0 };

/**
 * A server charges a quota before it stores the object, so what was charged a moment ago may be for an object that is still to be seen: it must not be taken back.
 * Charges are set off against new objects as both are seen. What is left over after a while was for nothing: such objects were never stored.
 */
export class Settling {
  readonly #accounts = new Map<string, Map<string, Account>>();
  readonly #settles: number;
  readonly #now: () => number;
  /** Quotas that were there before us, and since when we see them. */
  readonly #inherited = new Map<string, number>();

  /** In milliseconds, of a monotonic clock. */
  constructor(settles: number, now: () => number) {
    this.#settles = settles;
    this.#now = now;
  }

  /** The quota was there before us: what was charged to it a moment ago is not known. */
  inherit(key: string): void {
    this.#inherited.set(key, this.#now());
  }

  /** Takes note of what a new version of a quota has raised. */
  charged(key: string, old: KubeObject, quota: KubeObject): void {
    const before = usedOf(old);
    for (const [name, amount] of usedOf(quota)) {
      const was = before.get(name);
      if (was === undefined || compareQuantities(amount, was) <= 0) continue;
      const { charges, objects } = this.#account(key, name);
      this.#setOff(subtractQuantities(amount, was), objects, charges);
    }
  }

  /** Takes note of a new object that the quota is about. */
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

import { allowedInLine } from './scarce.ts';
import { Turns } from './turns.ts';

export interface SlotsOptions {
  readonly overall: number;
  /** For one tenant. */
  readonly perTenant: number;
}

/** Limits how many calls to others are under way, in total and for one tenant. More of them wait, and tenants take turns. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #taken = new Map<string, number>();
  /** Those of a tenant in the order in which they came. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #turns = new Turns<string>();
  #total = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** Runs the work when there is a slot for it. Rejects with the signal's reason if there is none before it aborts. */
  async within<Result>(tenant: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting.has(tenant) || !this.#hasSlotFor(tenant)) await this.#wait(tenant, signal);
    else this.#take(tenant);
    try {
      return await work();
    } finally {
      this.#giveBack(tenant);
    }
  }

  #hasSlotFor(tenant: string): boolean {
    const { overall, perTenant } = this.#options;
    if (this.#total >= overall) return false;
    return (this.#taken.get(tenant) ?? 0) < allowedInLine({ taken: this.#total, all: overall, most: perTenant });
  }

  #take(tenant: string): void {
    this.#total++;
    this.#taken.set(tenant, (this.#taken.get(tenant) ?? 0) + 1);
  }

  #giveBack(tenant: string): void {
    this.#total--;
    const left = this.#taken.get(tenant)! - 1;
    if (left > 0) this.#taken.set(tenant, left);
    else this.#taken.delete(tenant);
    for (let next = this.#next(); next !== undefined; next = this.#next()) next();
  }

  #wait(tenant: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', stop);
        this.#take(tenant);
        resolve();
      };
      const stop = (): void => {
        // Its name stays in the turns until it is asked.
        this.#waiting.get(tenant)?.delete(go);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', stop, { once: true });
      const others = this.#waiting.get(tenant);
      if (others !== undefined) {
        others.add(go);
        return;
      }
      this.#waiting.set(tenant, new Set([go]));
      this.#turns.push(tenant);
    });
  }

  /** The first that waits of the next tenant that may have another slot. */
  #next(): (() => void) | undefined {
    return this.#turns.next((tenant) => {
      const waiting = this.#waiting.get(tenant)!;
      const [found] = this.#hasSlotFor(tenant) ? waiting : [];
      if (found !== undefined) waiting.delete(found);
      if (waiting.size === 0) this.#waiting.delete(tenant);
      return { found, stays: waiting.size > 0 };
    });
  }
}

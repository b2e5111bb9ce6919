import type { Line } from './line.ts';
import { allowedInLine } from './scarce.ts';

export interface ByteBudgetOptions {
  readonly overall: number;
  /** For one tenant. */
  readonly perTenant: number;
}

/** Limits how many bytes are held in memory for clients, in total and for one tenant. */
export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts the bytes, or returns false if they are too many. */
  take({ tenant }: Line, bytes: number): boolean {
    const { overall, perTenant } = this.#options;
    const held = this.#held.get(tenant) ?? 0;
    const allowed = allowedInLine({ taken: this.#total, all: overall, most: perTenant });
    // A holder of nothing may have one thing of any size, as long as there is room.
    if (this.#total + bytes > overall || (held > 0 && held + bytes > allowed)) return false;
    this.#total += bytes;
    this.#held.set(tenant, held + bytes);
    return true;
  }

  give({ tenant }: Line, bytes: number): void {
    const left = (this.#held.get(tenant) ?? 0) - bytes;
    this.#total -= bytes;
    if (left > 0) this.#held.set(tenant, left);
    else this.#held.delete(tenant);
  }
}

/** The bytes that one request holds. */
export class HeldBytes {
  readonly #budget: ByteBudget;
  readonly #line: Line;
  #held = 0;

  constructor(budget: ByteBudget, line: Line) {
    this.#budget = budget;
    this.#line = line;
  }

  take(bytes: number): boolean {
    if (!this.#budget.take(this.#line, bytes)) return false;
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    const given = Math.min(bytes, this.#held);
    this.#held -= given;
    if (given > 0) this.#budget.give(this.#line, given);
  }

  giveAll(): void {
    this.give(this.#held);
  }
}

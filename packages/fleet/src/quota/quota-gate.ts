import type { FleetQuotaSpec } from '@capstan/api';
import { QuotaLedger } from './ledger.ts';
import { limitsIn, type QuotaAmount } from './limits.ts';

/** An object with what it counts. */
export interface CountedObject {
  readonly id: string;
  /** Of its workspace. */
  readonly path: string;
  readonly amount: QuotaAmount;
}

interface QuotaState {
  readonly quotas: readonly FleetQuotaSpec[];
  /** All objects that exist. */
  readonly counted: () => Iterable<CountedObject>;
}

/**
 * Admits objects of a kind as long as the limits of their workspaces allow it. One that was admitted counts at once, before it is written: two decisions in the same moment cannot exceed a
 * limit together.
 */
export class QuotaGate {
  readonly #measures: readonly string[];
  readonly #admitted = new Map<string, CountedObject>();

  /** The names of the measures that objects of the kind have. */
  constructor(measures: readonly string[]) {
    this.#measures = measures;
  }

  /** Why an object cannot have its amount; undefined if it can, and counts from now on. */
  admit(asked: CountedObject, state: QuotaState): string | undefined {
    const refusal = this.refusal(asked, state);
    if (refusal === undefined) this.#admitted.set(asked.id, asked);
    return refusal;
  }

  /** Like `admit`, for an object that is not created yet: nothing counts. */
  refusal({ id, path, amount }: CountedObject, { quotas, counted }: QuotaState): string | undefined {
    const limiting = quotas.filter(({ limits }) => this.#measures.some((name) => limitsIn(limits)[name] !== undefined));
    if (limiting.length === 0) {
      // Nothing has to be counted, and everything is there when somebody sets a limit.
      this.#admitted.clear();
      return undefined;
    }
    const ledger = new QuotaLedger(limiting);
    for (const one of counted()) {
      ledger.setUse(one.id, one.path, one.amount);
      const admitted = this.#admitted.get(one.id);
      if (admitted !== undefined && this.#measures.every((name) => (one.amount[name] ?? 0) >= (admitted.amount[name] ?? 0)))
        this.#admitted.delete(one.id);
    }
    for (const one of this.#admitted.values()) ledger.setUse(one.id, one.path, one.amount);
    return ledger.check(path, amount, id)[0]?.message;
  }

  /** The object is gone, or was not created after all. */
  forget(id: string): void {
    this.#admitted.delete(id);
  }
}

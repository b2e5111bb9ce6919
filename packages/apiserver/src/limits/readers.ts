import { status } from '@capstan/machinery';
import { Slots, type SlotsOptions } from './slots.ts';

export interface ReadersOptions extends Partial<SlotsOptions> {
  /** What is read, in the plural, for the message: `queries of the audit log`. */
  readonly what: string;
  /** How long a reader waits for others, in milliseconds. */
  readonly patience?: number;
}

/** Few, because each takes long. One tenant leaves room for others. */
const usual = { overall: 4, perTenant: 2, patience: 5_000 };

/** Limits how many requests read something long at the same time. Tenants take turns. */
export class Readers {
  readonly #options: Required<ReadersOptions>;
  readonly #slots: Slots;

  constructor(options: ReadersOptions) {
    this.#options = { ...usual, ...options };
    this.#slots = new Slots(this.#options);
  }

  /** Throws TooManyRequests if it is not the tenant's turn for too long. */
  async run<Result>(tenant: string, read: () => Promise<Result>): Promise<Result> {
    const { what, patience, overall, perTenant } = this.#options;
    const signal = AbortSignal.timeout(patience);
    let isRunning = false;
    try {
      return await this.#slots.within(tenant, signal, () => {
        isRunning = true;
        return read();
      });
    } catch (error) {
      if (isRunning || !signal.aborted) throw error;
      throw status.tooManyRequests(`${overall} ${what} are running already, or ${perTenant} of the same organization`, 1);
    }
  }
}

import type { UsageEnd, UsageFact } from '@capstan/api';
import type { Ledger } from './ledger-client.ts';
import type { SteadyClock } from './steady-clock.ts';

interface Waiting {
  readonly facts: readonly UsageFact[];
  readonly ends: readonly UsageEnd[];
  readonly done: PromiseWithResolvers<void>;
}

const mostAtOnce = 2_000;

/**
 * Reports facts and ends. Whatever is reported while a request is on its way goes with the next one. A report resolves when the ledger has it; one that fails is made
 * again by whoever made it, because the objects from which it came are still there.
 */
export class UsageRecorder {
  readonly #ledger: Pick<Ledger, 'append'>;
  readonly #clock: Pick<SteadyClock, 'now'>;
  readonly #signal: () => AbortSignal;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor({ ledger, clock, signal }: { ledger: Pick<Ledger, 'append'>; clock: Pick<SteadyClock, 'now'>; signal: () => AbortSignal }) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#signal = signal;
  }

  report(facts: readonly UsageFact[], ends: readonly UsageEnd[] = []): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ facts, ends, done });
    if (!this.#isSending) void this.#sendAll();
    return done.promise;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    // Others that report in the same moment go along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        const facts = batch.flatMap((one) => one.facts);
        const ends = batch.flatMap((one) => one.ends);
        await this.#ledger.append({ facts, ends, clock: new Date(this.#clock.now()).toISOString() }, this.#signal());
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    this.#isSending = false;
  }

  #take(): Waiting[] {
    let size = 0;
    const count = this.#waiting.findIndex((one, index) => {
      size += one.facts.length + one.ends.length;
      return index > 0 && size > mostAtOnce;
    });
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count);
  }
}

import type { UsageEnd, UsageFact } from '@capstan/api';
import type { Ledger } from './ledger-client.ts';
import type { SteadyClock } from './steady-clock.ts';

type Clock = Pick<SteadyClock, 'now'> & Partial<Pick<SteadyClock, 'origin'>>;

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
  readonly #clock: Clock;
  readonly #signal: () => AbortSignal;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor({ ledger, clock, signal }: { ledger: Pick<Ledger, 'append'>; clock: Clock; signal: () => AbortSignal }) {
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
        const { origin } = this.#clock;
        const clock = new Date(this.#clock.now()).toISOString();
        await this.#ledger.append({ facts, ends, clock, ...(origin && { origin }) }, this.#signal());
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

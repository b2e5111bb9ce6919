import type { NodeUnit } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { ended } from '../allocations/tenants.ts';
import type { PretendFleet } from '../units/testing/pretend-fleet.ts';

/** Agents for tests that prepare warm units at once, and do nothing else. */
export class WarmingAgents implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(fleet: PretendFleet) {
    this.#done = this.#work(fleet);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #work(fleet: PretendFleet): Promise<void> {
    const isNew = ({ spec, status }: NodeUnit): boolean => spec.warm === true && (status?.phase ?? 'Pending') === 'Pending';
    while (!this.#stop.signal.aborted) {
      const { items } = await fleet.nodeUnits().list();
      for (const one of items.filter(isNew)) await ignoring(fleet.report(one, { phase: 'Warm' }), isNotFound);
      await Promise.race([ended(this.#stop.signal), new Promise((resolve) => setTimeout(resolve, 20))]);
    }
  }
}

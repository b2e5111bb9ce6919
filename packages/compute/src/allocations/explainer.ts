import { type FleetIndex, type Reservation, withOwnReservations } from '@capstan/fleet';
import { type WaitingReason, waitingStatus } from './status.ts';
import { type Known, writeStatus } from './tenants.ts';
import type { Queued } from './waiting-list.ts';

/** Why an allocation waits. */
export interface Reason {
  readonly reason: WaitingReason;
  readonly message: string;
}

export type StatusWrite = (signal: AbortSignal) => Promise<void>;

export interface ExplainerOptions {
  readonly index: FleetIndex;
  /** In milliseconds: how often the reason of a waiting allocation is written again at most. */
  readonly every: number;
  readonly now: () => number;
}

/** Tells waiting allocations why they wait, not too often. */
export class Explainer {
  readonly #options: ExplainerOptions;
  /** When the reason of an allocation was last written, by uid. */
  #explained = new Map<string, number>();

  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  isDue(uid: string): boolean {
    const { now, every } = this.#options;
    return now() - (this.#explained.get(uid) ?? Number.NEGATIVE_INFINITY) >= every;
  }

  /** Forgets all others. */
  keep(waiting: readonly Known[]): void {
    this.#explained = new Map(waiting.flatMap(({ uid }) => (this.#explained.has(uid) ? [[uid, this.#explained.get(uid)!]] : [])));
  }

  /** The reasons of those that were not placed. A request that many of a tenant share is explained once. */
  *shortages(short: readonly Queued[], reservations: readonly Reservation[]): Generator<{ readonly known: Known } & Reason> {
    const messages = new Map<string, string>();
    for (const { known, waiting } of short) {
      if (!this.isDue(known.uid)) continue;
      const own = reservations.filter((one) => one.isFor(waiting.tenant));
      const key = JSON.stringify([waiting.request, own.length > 0 ? waiting.tenant : null]);
      let message = messages.get(key);
      if (message === undefined) {
        const answer = withOwnReservations(this.#options.index, own, () => this.#options.index.place(waiting.request));
        message = answer.kind === 'short' ? answer.message : 'waits for its turn';
        messages.set(key, message);
      }
      yield { known, reason: 'Shortage', message };
    }
  }

  /** The write of a reason; undefined if it is told already, or was just told another one. */
  write(known: Known, reason: Reason): StatusWrite | undefined {
    const { uid, allocation, place } = known;
    if (!this.isDue(uid)) return undefined;
    const { now } = this.#options;
    const status = waitingStatus(allocation, reason, new Date(now()));
    if (status.message === allocation.status?.message && status.phase === allocation.status?.phase) {
      this.#explained.set(uid, now());
      return undefined;
    }
    return async (signal) => {
      await writeStatus(known, status, signal);
      this.#explained.set(uid, now());
      place.context.events.warning(allocation, reason.reason, reason.message);
    };
  }
}

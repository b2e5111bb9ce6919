import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, deferred, isConflict } from '@capstan/client';
import { type Lease, LeaseRecord } from './lease.ts';
import { type Clock, HeldTerm, momentOf, systemClock, type Term } from './term.ts';

export interface ElectionOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Of the Lease: who contends for the same thing names the same. */
  readonly name: string;
  /** Different for each process that ever runs; made up when absent. */
  readonly identity?: string;
  /** In milliseconds: so long others wait after the last sign of the leader. */
  readonly leaseDuration?: number;
  /** In milliseconds: so long a leader works without a renewal. What is between this and `leaseDuration` is the time it has to stop. */
  readonly renewDeadline?: number;
  /** In milliseconds, between two tries. */
  readonly retryPeriod?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Told of failures that are retried. */
  readonly onError?: (error: unknown) => void;
  /** Told at every try while somebody else holds the lease. */
  readonly onWaiting?: (holder: string) => void;
  /** Told when the lease could be read or renewed. */
  readonly onReached?: () => void;
  readonly onLeader?: (state: 'leading' | 'lost' | 'released') => void;
}

/** In milliseconds: a server that cannot be reached does not hold up the end of a process for longer. Others then wait until the lease expires. */
const releaseWithin = 5_000;

/**
 * At most one of many processes works at a time.
 *
 * No clock of one process is compared with that of another. A leader counts from before it sent its last renewal; a contender counts from
 * after it saw that renewal, which is later; and it waits longer than the leader works. So the leader has stopped when the contender
 * begins, whatever the network delays, and also when the leader was paused: after a pause it looks at the clock first.
 */
export class LeaderElector {
  readonly identity: string;
  readonly #options: Required<Pick<ElectionOptions, 'leaseDuration' | 'renewDeadline' | 'retryPeriod' | 'clock' | 'random'>> &
    ElectionOptions;
  readonly #record: LeaseRecord;
  #term: HeldTerm | undefined;

  constructor(options: ElectionOptions) {
    const { leaseDuration = 15_000, renewDeadline = 10_000, retryPeriod = 2_000, clock = systemClock, random = Math.random } = options;
    if (!(leaseDuration > renewDeadline && renewDeadline > retryPeriod && retryPeriod > 0)) {
      throw new RangeError(
        `expected leaseDuration > renewDeadline > retryPeriod > 0, got ${leaseDuration}, ${renewDeadline} and ${retryPeriod}: a leader must be able to retry before it stops, and stop before others begin`,
      );
    }
    this.identity = options.identity ?? `${hostname()}_${randomUUID()}`;
    this.#options = { ...options, leaseDuration, renewDeadline, retryPeriod, clock, random };
    this.#record = new LeaseRecord({ ...options, identity: this.identity, leaseDuration, wall: clock.wall });
  }

  /** Looks at the clocks; see `Term`. */
  isLeading(): boolean {
    return this.#term?.isLeading() ?? false;
  }

  /** Contends until aborted, and calls `lead` for each term. It should end when its term's signal says so; the lease is kept until it has. */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const held = await this.#acquire(signal);
      if (held !== undefined) await this.#hold(held, signal, lead);
    }
  }

  async #acquire(signal: AbortSignal): Promise<{ lease: Lease; term: HeldTerm } | undefined> {
    const { retryPeriod, random, onError } = this.#options;
    using bell = new Bell(this.#record, this.#options);
    const seen: Observation = { version: '', at: 0 };
    while (!signal.aborted) {
      let expiresIn = Number.POSITIVE_INFINITY;
      try {
        const outcome = await this.#try(seen, AbortSignal.any([signal, AbortSignal.timeout(this.#options.renewDeadline)]));
        if (typeof outcome !== 'number') return outcome;
        expiresIn = outcome;
      } catch (error) {
        if (signal.aborted) break;
        if (!isConflict(error)) onError?.(error);
      }
      await bell.wait(Math.min(expiresIn, retryPeriod * (1 + random() / 5)), signal);
    }
    return undefined;
  }

  /** The lease, or in how many milliseconds it would be free. */
  async #try(seen: Observation, signal: AbortSignal): Promise<{ lease: Lease; term: HeldTerm } | number> {
    const { clock, leaseDuration, renewDeadline } = this.#options;
    const lease = await this.#record.read(signal);
    this.#options.onReached?.();
    if (lease !== undefined) {
      const version = lease.metadata.resourceVersion ?? '';
      if (version !== seen.version) Object.assign(seen, { version, at: clock.monotonic() });
      const holder = lease.spec?.holderIdentity ?? '';
      const theirs = Math.max(leaseDuration, (lease.spec?.leaseDurationSeconds ?? 0) * 1000);
      const left = theirs - (clock.monotonic() - seen.at);
      if (holder !== '' && holder !== this.identity && left > 0) {
        this.#options.onWaiting?.(holder);
        return left;
      }
    }
    const since = momentOf(clock);
    const taken = await (lease === undefined ? this.#record.create(signal) : this.#record.take(lease, signal));
    if (taken === undefined) return 0;
    return { lease: taken, term: new HeldTerm({ token: taken.spec?.leaseTransitions ?? 0, clock, deadline: renewDeadline, since }) };
  }

  async #hold(held: { lease: Lease; term: HeldTerm }, signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    const { term } = held;
    const { onLeader } = this.#options;
    if (!term.isLeading()) return;
    this.#term = term;
    onLeader?.('leading');
    const onAbort = (): void => term.stop();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) term.stop();
    const finished = new AbortController();
    const renewing = this.#renewUntil(held, finished.signal);
    try {
      await lead(term);
    } finally {
      signal.removeEventListener('abort', onAbort);
      finished.abort();
      const lease = await renewing;
      const wasLeading = term.isLeading();
      term.lose();
      this.#term = undefined;
      onLeader?.(wasLeading ? 'released' : 'lost');
      if (wasLeading) await this.#release(lease);
    }
  }

  async #release(lease: Lease): Promise<void> {
    const limit = AbortSignal.timeout(Math.min(releaseWithin, this.#options.renewDeadline));
    try {
      await this.#record.release(lease, limit).catch(async (error: unknown) => {
        if (!isConflict(error)) throw error;
        // The last renewal was dropped on this side only.
        const now = await this.#record.read(limit);
        if (now !== undefined && this.#record.isOurs(now)) await this.#record.release(now, limit);
      });
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  /** Renews while `lead` runs, also while it winds down; the newest version of the lease. */
  async #renewUntil({ lease, term }: { lease: Lease; term: HeldTerm }, finished: AbortSignal): Promise<Lease> {
    const { clock, retryPeriod, onError, onReached } = this.#options;
    let wait = retryPeriod;
    while (!finished.aborted && term.isLeading()) {
      await sleep(Math.max(1, Math.min(wait, term.remaining)), undefined, { signal: finished }).catch(() => {});
      if (finished.aborted || !term.isLeading()) break;
      // One try takes at most a part of what is left, so that a silent connection leaves time for another.
      const limit = AbortSignal.any([
        finished,
        AbortSignal.timeout(Math.max(1, Math.ceil(Math.max(term.remaining / 2, Math.min(retryPeriod, term.remaining))))),
      ]);
      const sentAt = momentOf(clock);
      try {
        lease = await this.#record.renew(lease, limit);
        term.renewed(sentAt);
        onReached?.();
        wait = retryPeriod;
      } catch (error) {
        if (finished.aborted) break;
        wait = retryPeriod / 4;
        if (isConflict(error)) lease = await this.#reread(lease, term);
        else onError?.(error);
      }
    }
    return lease;
  }

  /** Somebody wrote: it was our own renewal whose answer got lost, or another leader. */
  async #reread(lease: Lease, term: HeldTerm): Promise<Lease> {
    try {
      const now = await this.#record.read(AbortSignal.timeout(Math.max(1, Math.ceil(term.remaining))));
      if (now !== undefined && this.#record.isOurs(now)) return now;
      term.lose();
    } catch (error) {
      this.#options.onError?.(error);
    }
    return lease;
  }
}

interface Observation {
  version: string;
  /** When this version was first seen, by the monotonic clock. */
  at: number;
}

/** Wakes a contender as soon as the lease changes, so that a hand-over takes no polling. */
class Bell implements Disposable {
  readonly #stop = new AbortController();
  #ring = deferred<void>();

  constructor(record: LeaseRecord, options: { readonly name: string; readonly retryPeriod: number; readonly leaseDuration: number }) {
    void this.#listen(record, options);
  }

  async #listen(
    record: LeaseRecord,
    options: { readonly name: string; readonly retryPeriod: number; readonly leaseDuration: number },
  ): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const select = { fieldSelector: `metadata.name=${options.name}`, idleTimeout: 2 * options.leaseDuration, signal };
      // Only a hint: without it the contender looks by itself.
      await record.resource.follow(select, ({ object }) => this.#heard(object as Lease)).catch(() => {});
      await sleep(options.retryPeriod, undefined, { signal }).catch(() => {});
    }
  }

  #heard(lease: Lease): void {
    if ((lease.spec?.holderIdentity ?? '') === '') this.#ring.resolve();
  }

  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const limit = new AbortController();
    const timer = sleep(Math.max(1, milliseconds), undefined, { signal: AbortSignal.any([signal, limit.signal]) }).catch(() => {});
    await Promise.race([timer, this.#ring.promise]);
    limit.abort();
    this.#ring = deferred<void>();
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

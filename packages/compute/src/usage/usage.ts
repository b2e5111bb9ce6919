import type { Allocation, UsageFact } from '@capstan/api';
import { isDeleting } from '@capstan/controller';
import type { Attempt, FleetNode } from '@capstan/fleet';
import { deletionOf, factsOf } from './facts.ts';
import type { Ledger } from './ledger-client.ts';
import { UsageRecorder } from './recorder.ts';
import { SteadyClock, type TimeSources } from './steady-clock.ts';

export interface UsageOptions {
  readonly ledger: Ledger;
  readonly time: TimeSources;
  readonly signal: () => AbortSignal;
  /** The time for facts, if not a steady clock: for tests. */
  readonly now?: () => number;
}

/** A booked attempt, and its allocation if it is known. */
export interface Booked {
  readonly attempt: Attempt;
  readonly allocation: Allocation | undefined;
}

/**
 * Keeps the ledger in step with allocations. A beginning is in the ledger before anything of it is released, and an end before the allocation is gone, so a crash between
 * any two writes loses neither: the next scheduler finds the same objects, and reports the same or finds it in the ledger.
 */
export class Usage {
  readonly clock: Pick<SteadyClock, 'now'> & Partial<Pick<SteadyClock, 'origin'>>;
  readonly #options: UsageOptions;
  readonly #recorder: UsageRecorder;
  /** Uids of allocations whose beginning the ledger has. Like the others, one is forgotten at its end. */
  readonly #begun = new Set<string>();
  /** Uids of allocations that this process has granted. */
  readonly #granted = new Set<string>();
  /** Uids of allocations that this process has seen before they were deleted. */
  readonly #alive = new Set<string>();
  /** Beginnings that earlier processes have probably reported. They are reported again together, in a while. */
  readonly #later = new Map<string, readonly UsageFact[]>();

  private constructor(options: UsageOptions, clock: Usage['clock']) {
    this.clock = clock;
    this.#options = options;
    this.#recorder = new UsageRecorder({ ...options, clock });
  }

  /** Asks the ledger for the time that it knows: the clock of the machine may have been set since. */
  static async start(options: UsageOptions): Promise<Usage> {
    const { ledger, time, signal, now } = options;
    if (now !== undefined) return new Usage(options, { now });
    return new Usage(options, new SteadyClock(time, await ledger.state(undefined, signal())));
  }

  /** The status of the allocation names its attempt now. */
  granted(uid: string): void {
    this.#granted.add(uid);
  }

  /** Reports beginnings that the ledger does not have. Throws `HeldBack` if it cannot, with the attempts that must not be released now. */
  async begin(all: readonly Booked[], nodeOf: (name: string) => FleetNode | undefined): Promise<void> {
    for (const { attempt, allocation } of all)
      if (allocation !== undefined && !isDeleting(allocation)) this.#alive.add(attempt.allocation.uid);
    const unknown = all.flatMap(({ attempt, allocation }) => {
      const facts = allocation === undefined || this.#begun.has(attempt.allocation.uid) ? undefined : factsOf(attempt, allocation, nodeOf);
      return facts === undefined ? [] : [{ attempt, facts, isLeaving: isDeleting(allocation!) }];
    });
    const isUrgent = ({ attempt, isLeaving }: (typeof unknown)[number]): boolean => isLeaving || this.#granted.has(attempt.allocation.uid);
    const urgent = unknown.filter(isUrgent);
    for (const one of unknown) if (!isUrgent(one)) this.#later.set(one.attempt.allocation.uid, one.facts);
    if (urgent.length === 0) return;
    try {
      const missing = (await Promise.all(urgent.map(async (one) => ((await this.#hasBegun(one.attempt)) ? [] : [one])))).flat();
      if (missing.length > 0) await this.#recorder.report(missing.flatMap(({ facts }) => facts));
    } catch (error) {
      throw new HeldBack(new Set(urgent.map(({ attempt }) => attempt)), error);
    }
    for (const { attempt } of urgent) this.#begun.add(attempt.allocation.uid);
  }

  /** Nobody else can have reported what this process has granted. */
  async #hasBegun({ allocation }: Attempt): Promise<boolean> {
    return !this.#granted.has(allocation.uid) && (await this.#options.ledger.state(allocation, this.#options.signal())).begun;
  }

  /**
   * An allocation that is being deleted and has nothing any more. A deletion that this process has seen is timed by the clock by which the allocation began; of others it
   * knows only the time that the API server wrote.
   */
  end(allocation: Allocation, cluster: string): Promise<void> {
    const { uid = '' } = allocation.metadata;
    const now = this.clock.now();
    return this.#end({ cluster, uid }, this.#alive.has(uid) ? now : Math.min(now, deletionOf(allocation)));
  }

  /** An allocation that disappeared without the scheduler: somebody took its finalizer away. */
  vanished({ allocation }: Attempt): Promise<void> {
    return this.#end(allocation, this.clock.now());
  }

  async #end({ cluster, uid }: { readonly cluster: string; readonly uid: string }, time: number): Promise<void> {
    const { ledger, signal } = this.#options;
    if (!this.#begun.has(uid) && !(await ledger.state({ cluster, uid }, signal())).open) return;
    await this.#recorder.report([], [{ cluster, uid, end: new Date(time).toISOString() }]);
    for (const uids of [this.#begun, this.#granted, this.#alive, this.#later]) uids.delete(uid);
  }

  /** From time to time: tells the ledger the time, and the beginnings that wait. */
  async tick(): Promise<void> {
    const later = [...this.#later];
    await this.#recorder.report(later.flatMap(([, facts]) => facts));
    for (const [uid] of later) {
      this.#begun.add(uid);
      this.#later.delete(uid);
    }
  }
}

/** The ledger could not be written: these attempts are not to be released now. */
export class HeldBack extends Error {
  override readonly name = 'HeldBack';
  readonly attempts: ReadonlySet<Attempt>;

  constructor(attempts: ReadonlySet<Attempt>, cause: unknown) {
    super(`the usage ledger cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.attempts = attempts;
  }
}

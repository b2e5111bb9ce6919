import type { Allocation } from '@capstan/api';
import { isConflict, isNotFound } from '@capstan/client';
import { addFinalizer, type ControllerContext, hasFinalizer, isDeleting, removeFinalizer } from '@capstan/controller';
import { type Attempt, addEntry, entryFor, type Grant, type Hold, isAlive, type QueueRules, runPass, verdictOn } from '@capstan/fleet';
import { advance } from './advance.ts';
import { type BookingChange, BookingWriter } from './booking-writer.ts';
import type { FleetCopy } from './fleet-copy.ts';
import { inParallel } from './in-parallel.ts';
import { type LimitsOf, PassQuota, placedAmount } from './quota.ts';
import { grantedStatus, type WaitingReason, waitingStatus, wordsFor } from './status.ts';
import { type Known, referenceTo, resourceOf, type Tenants, writeStatus } from './tenants.ts';
import { countBooked, type Queued, waitingList } from './waiting-list.ts';

export interface SchedulerOptions {
  readonly rules: QueueRules;
  readonly limitsOf: LimitsOf;
  /** In milliseconds: how often the reason of a waiting allocation is written again at most. */
  readonly explainEvery: number;
  readonly newAttempt: () => string;
  readonly now: () => number;
}

export const allocationFinalizer = 'compute.capstan.dev/bookings';

/** Requests to the server at the same time. */
const mostRequests = 32;
/** In milliseconds: how long one request may take, so that one tenant does not delay all. */
const patience = 10_000;
/** In milliseconds: how soon a pass follows one in which somebody else was faster, or in which a request failed. */
const soon = { behind: 20, failed: 1_000 };

/** The writes of one pass. */
interface Plan {
  readonly bookings: BookingChange[];
  readonly others: { readonly known: Known; readonly write: (signal: AbortSignal) => Promise<unknown> }[];
}

/** Why an allocation waits. */
interface Reason {
  readonly reason: WaitingReason;
  readonly message: string;
}

/** Grants, explains and releases. All state between two passes is in the bookings and the allocations, apart from holds. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #fleet: FleetCopy;
  readonly #tenants: Tenants;
  readonly #context: ControllerContext;
  readonly #writer: BookingWriter;
  #holds: readonly Hold[] = [];
  /** When the reason of an allocation was last written, by uid. */
  #explained = new Map<string, number>();
  #retry: keyof typeof soon | undefined;

  constructor(
    context: ControllerContext,
    { fleet, tenants, options }: { readonly fleet: FleetCopy; readonly tenants: Tenants; readonly options: SchedulerOptions },
  ) {
    this.#context = context;
    this.#fleet = fleet;
    this.#tenants = tenants;
    this.#options = options;
    this.#writer = new BookingWriter({ client: context.client, bookings: fleet.bookings });
  }

  /** One look at everything and the writes that follow from it. Returns the milliseconds until the next one; undefined if nothing waits. */
  async pass(): Promise<number | undefined> {
    this.#retry = undefined;
    const plan: Plan = { bookings: [], others: [] };
    // Entries that were given up are no business of the scheduler, apart from the room that they take in the index.
    const attempts = this.#fleet.attempts().filter(isAlive);
    const quota = new PassQuota(this.#options.limitsOf);
    const usage = countBooked(attempts, { fleet: this.#fleet, quota });
    await inParallel(attempts, mostRequests, (attempt) => this.#guarded(attempt.allocation.name, () => this.#goOn(attempt, plan)));
    const candidates = this.#sort(attempts, plan);
    const { queued, refused } = waitingList(candidates, { fleet: this.#fleet, quota });
    const { now, rules } = this.#options;
    const result = runPass(this.#fleet.index, {
      now: now(),
      rules,
      waiting: queued.map(({ waiting }) => waiting),
      holds: this.#holds,
      reservations: [],
      usage,
      totals: this.#fleet.totals(),
      weights: new Map(),
    });
    this.#holds = result.holds;
    const short = this.#begin(queued, result.grants, { plan, quota });
    for (const { known, ...reason } of refused) this.#explain(known, reason, plan);
    this.#explainAll(short, plan);
    await this.#write(plan, result.grants);
    this.#explained = new Map(candidates.flatMap(({ uid }) => (this.#explained.has(uid) ? [[uid, this.#explained.get(uid)!]] : [])));
    if (this.#retry !== undefined) return soon[this.#retry];
    return short.length + refused.length > 0 ? this.#options.explainEvery : undefined;
  }

  /** Goes on with an attempt, also one that another scheduler has begun. */
  async #goOn(attempt: Attempt, plan: Plan): Promise<void> {
    const { uid } = attempt.allocation;
    const known = this.#tenants.find(uid);
    const read = known?.allocation ?? (await this.#tenants.read(attempt.allocation, this.#signal()));
    if (read === 'unknown') return;
    const progress = advance(attempt, { fleet: this.#fleet, allocation: read === 'gone' ? undefined : read });
    if (progress.kind === 'booking') plan.bookings.push(progress.write);
    if (progress.kind === 'confirm' && known !== undefined && hasFinalizer(known.allocation, allocationFinalizer))
      plan.others.push({ known, write: (signal) => this.#confirm(known, attempt, signal) });
  }

  /** Finds those that wait, and takes care of those that are new or being deleted. */
  #sort(attempts: readonly Attempt[], plan: Plan): Known[] {
    const booked = Map.groupBy(attempts, ({ allocation }) => allocation.uid as string);
    const candidates: Known[] = [];
    for (const known of this.#tenants.all()) {
      const { uid, allocation } = known;
      const own = booked.get(uid) ?? [];
      const isProtected = hasFinalizer(allocation, allocationFinalizer);
      if (isDeleting(allocation)) {
        if (isProtected && own.length === 0) this.#letGo(known, plan);
        continue;
      }
      // At the same time as its first booking: nothing runs before the status, which waits for both.
      if (!isProtected)
        plan.others.push({
          known,
          write: async () => known.place.allocations.wrote(await addFinalizer(resourceOf(known), allocation, allocationFinalizer)),
        });
      if (own.length === 0 && verdictOn('', allocation) === 'undecided') candidates.push(known);
    }
    return candidates;
  }

  /** Lets a deleted allocation go as soon as everything that it had is in the hands of the platform: tenants do not wait for the cleaning of nodes. */
  #letGo(known: Known, plan: Plan): void {
    const { allocation, place } = known;
    plan.others.push({
      known,
      write: async () => place.allocations.wrote(await removeFinalizer(resourceOf(known), allocation, allocationFinalizer)),
    });
  }

  /** Plans the first booking of each grant. Returns those that were not granted. */
  #begin(
    queued: readonly Queued[],
    grants: readonly Grant[],
    { plan, quota }: { readonly plan: Plan; readonly quota: PassQuota },
  ): Queued[] {
    const left = new Map(queued.map((one) => [one.waiting.id, one]));
    for (const { waiting, placement } of grants) {
      const { known } = left.get(waiting.id)!;
      left.delete(waiting.id);
      // The model and the memory may be known only now.
      const amount = placedAmount(placement.parts, (name) => this.#fleet.node(name));
      const message = quota.admit(waiting.id, waiting.tenant, amount);
      if (message !== undefined) this.#explain(known, { reason: 'QuotaExceeded', message }, plan);
      else plan.bookings.push(this.#firstBooking(known, placement.parts));
    }
    return [...left.values()];
  }

  #firstBooking(known: Known, placed: Grant['placement']['parts']): BookingChange {
    const parts = placed.map(({ node, devices, cpu, memory }) => ({ node, devices, cpu, memory }));
    const exclusive = placed[0]!.exclusive ?? false;
    const attempt = { allocation: referenceTo(known), name: this.#options.newAttempt(), parts, exclusive };
    const [first] = parts;
    const { node } = first!;
    const capacity = this.#fleet.node(node)!;
    const event = parts.length > 1 ? 'hold' : 'grant';
    return { node, change: (spec) => addEntry(spec, entryFor(attempt, first!), { event, capacity }) };
  }

  /** A request that many allocations share is explained once. */
  #explainAll(short: readonly Queued[], plan: Plan): void {
    const messages = new Map<string, string>();
    for (const { known, waiting } of short) {
      if (!this.#isDue(known.uid)) continue;
      const key = JSON.stringify(waiting.request);
      let message = messages.get(key);
      if (message === undefined) {
        const answer = this.#fleet.index.place(waiting.request);
        message = answer.kind === 'short' ? answer.message : 'waits for its turn';
        messages.set(key, message);
      }
      this.#explain(known, { reason: 'Shortage', message }, plan);
    }
  }

  #isDue(uid: string): boolean {
    const { now, explainEvery } = this.#options;
    return now() - (this.#explained.get(uid) ?? Number.NEGATIVE_INFINITY) >= explainEvery;
  }

  #explain(known: Known, reason: Reason, plan: Plan): void {
    const { uid, allocation, place } = known;
    // Two writes of the same object at once would conflict.
    if (!this.#isDue(uid) || !hasFinalizer(allocation, allocationFinalizer)) return;
    const { now } = this.#options;
    const status = waitingStatus(allocation, reason, new Date(now()));
    if (status.message === allocation.status?.message && status.phase === allocation.status?.phase) {
      this.#explained.set(uid, now());
      return;
    }
    plan.others.push({
      known,
      write: async (signal) => {
        await writeStatus(known, status, signal);
        this.#explained.set(uid, now());
        place.context.events.warning(allocation, reason.reason, reason.message);
      },
    });
  }

  async #confirm(known: Known, attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { allocation, place } = known;
    await writeStatus(known, grantedStatus(allocation, attempt, new Date(this.#options.now())), signal);
    place.context.events.normal(allocation, 'Granted', wordsFor(attempt.parts));
  }

  /** Bookings of different nodes, and objects of different tenants, are written at the same time. */
  async #write({ bookings, others }: Plan, grants: readonly Grant[]): Promise<void> {
    const byNode = Map.groupBy(bookings, ({ node }) => node);
    const writes = [
      ...byNode.entries().map(
        ([node, changes]) =>
          () =>
            this.#guarded(node, async () => {
              if (!(await this.#writer.write(node, changes, this.#signal()))) this.#retry ??= 'behind';
            }),
      ),
      ...others.map(
        ({ known, write }) =>
          () =>
            this.#guarded(nameOf(known.allocation), () => write(this.#signal())),
      ),
    ];
    await inParallel(writes, mostRequests, (write) => write());
    // The bookings have them now, or somebody else was faster.
    for (const { waiting, placement } of grants) for (const { node } of placement.parts) this.#fleet.index.free(waiting.id, node);
  }

  /** A write that fails is decided again by the next pass. */
  async #guarded(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isConflict(error)) this.#retry ??= 'behind';
      else {
        this.#retry = 'failed';
        if (!isNotFound(error) && !this.#context.drop.aborted) this.#context.onError(error, { name });
      }
    }
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#context.drop, AbortSignal.timeout(patience)]);
  }
}

function nameOf({ metadata }: Allocation): string {
  return metadata.name ?? '';
}

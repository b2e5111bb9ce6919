import { type Allocation, type AllocationReference, allocationFinalizer } from '@capstan/api';
import { isConflict, isNotFound } from '@capstan/client';
import { addFinalizer, type ControllerContext, hasFinalizer, isDeleting, removeFinalizer } from '@capstan/controller';
import {
  type Attempt,
  addEntry,
  addUsage,
  entryFor,
  type FleetNode,
  type Grant,
  type Hold,
  isAlive,
  liftReservation,
  noUsage,
  type PassResult,
  type QueueRules,
  type Usage as QueueUsage,
  type Reservation,
  runPass,
  verdictOn,
  type Waiting,
} from '@capstan/fleet';
import { type KeeperOptions, StockKeeper } from '../stock/keeper.ts';
import type { Shelf } from '../stock/stockroom.ts';
import { type Booked, HeldBack, type Usage } from '../usage/usage.ts';
import { advance } from './advance.ts';
import { type BookingChange, BookingWriter } from './booking-writer.ts';
import { DirectGrants } from './direct-grants.ts';
import { Explainer, type Reason } from './explainer.ts';
import type { FleetCopy } from './fleet-copy.ts';
import { inParallel } from './in-parallel.ts';
import { PassQuota, placedAmount } from './quota.ts';
import { reservationsNow, untilNextChange } from './reservations.ts';
import { grantedStatus, wordsFor } from './status.ts';
import { type Known, referenceTo, resourceOf, type Tenants, tenantOf, writeStatus } from './tenants.ts';
import { UsageReports } from './usage-reports.ts';
import { type CountingOptions, countBooked, type Queued, type Refusal, requestOf, waitingList } from './waiting-list.ts';
import { WorkspacePaths } from './workspaces.ts';

export interface SchedulerOptions {
  readonly rules: QueueRules;
  /** In milliseconds: how often the reason of a waiting allocation is written again at most. */
  readonly explainEvery: number;
  readonly newAttempt: () => string;
  readonly now: () => number;
  /** The ledger; nothing is recorded without it. */
  readonly usage?: Usage;
}

/** Requests to the server at the same time. */
const mostRequests = 32;
/** In milliseconds: how long one request may take, so that one tenant does not delay all. */
const patience = 10_000;
/** In milliseconds: how soon a pass follows one in which somebody else was faster, or in which a request failed. */
const soon = { behind: 20, failed: 1_000 };
/** How often one pass looks again at orders that limits have refused. */
const mostRounds = 4;
/** In milliseconds: timers cannot wait for weeks. */
const longestWait = 3_600_000;

/** The writes of one pass. */
interface Plan {
  readonly bookings: BookingChange[];
  readonly others: { readonly name: string; readonly write: (signal: AbortSignal) => Promise<unknown> }[];
}

/** Those that got something, those that wait for devices or have just got some, and those that must not have any. */
interface Placed {
  readonly grants: readonly Grant[];
  readonly queued: readonly Queued[];
  readonly refused: readonly Refusal[];
}

export interface SchedulerParts {
  readonly fleet: FleetCopy;
  readonly tenants: Tenants;
  readonly options: SchedulerOptions;
  readonly stock: Pick<KeeperOptions, 'isReady' | 'again'>;
  /** Whether something has changed since the last pass began. */
  readonly isDue: () => boolean;
}

/** Grants, explains and releases. All state between two passes is in the bookings and the allocations, apart from holds. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #fleet: FleetCopy;
  readonly #tenants: Tenants;
  readonly #context: ControllerContext;
  readonly #writer: BookingWriter;
  readonly #explainer: Explainer;
  readonly #usageReports: UsageReports;
  readonly #paths = new WorkspacePaths();
  readonly #stock: StockKeeper;
  readonly #direct: DirectGrants;
  /** The limits of the last pass, if it has left nothing to decide. */
  #settled: PassQuota | undefined;
  #holds: readonly Hold[] = [];
  /** Those of the last pass, which the index keeps devices for. */
  #reservations: readonly Reservation[] = [];
  #retry: keyof typeof soon | undefined;
  #shared: { readonly since: number; readonly signal: AbortSignal } | undefined;

  constructor(context: ControllerContext, { fleet, tenants, options, stock, isDue }: SchedulerParts) {
    this.#context = context;
    this.#fleet = fleet;
    this.#tenants = tenants;
    this.#options = options;
    this.#writer = new BookingWriter({ client: context.client, bookings: fleet.bookings });
    const { explainEvery: every, now } = options;
    this.#explainer = new Explainer({ index: fleet.index, every, now });
    this.#usageReports = new UsageReports(every);
    const granting = {
      fleet,
      tenants,
      paths: this.#paths,
      writer: this.#writer,
      newAttempt: options.newAttempt,
      confirm: (known: Known, attempt: Attempt, signal: AbortSignal) => this.#confirm(known, attempt, signal),
      signal: () => this.#signal(),
      now,
    };
    this.#stock = new StockKeeper({ ...granting, ...stock });
    this.#direct = new DirectGrants({
      ...granting,
      quiet: () => (isDue() ? undefined : this.#settled),
      requestOf: (spec) => requestOf(spec, fleet),
      place: (waiting) => this.#place([waiting], new Map()).grants[0],
      again: stock.again,
    });
  }

  /** Warm units and free devices, which orders get between two passes. */
  get shelf(): Shelf {
    return { promise: async (order) => (await this.#stock.promise(order)) ?? this.#direct.promise(order) };
  }

  /** One look at everything and the writes that follow from it. Returns the milliseconds until the next one; undefined if nothing waits. */
  async pass(): Promise<number | undefined> {
    this.#retry = undefined;
    this.#settled = undefined;
    const plan: Plan = { bookings: [], others: [] };
    // Entries that were given up are no business of the scheduler, apart from the room that they take in the index.
    const attempts = this.#fleet.attempts().filter(isAlive);
    const quota = new PassQuota(this.#fleet.quotas());
    this.#stock.count(quota);
    this.#direct.count(quota);
    if (!quota.isEmpty) for (const volume of this.#fleet.volumes()) quota.countVolume(volume);
    await this.#goOn(attempts, plan);
    const candidates = this.#sort(attempts, plan);
    await this.#learnPaths(candidates, attempts);
    const counting = { fleet: this.#fleet, quota, pathOf: this.#pathOf };
    const { grants, queued, refused } = this.#placeAll(candidates, counting, countBooked(attempts, counting));
    const { now } = this.#options;
    const reservations = this.#reservations;
    const short = this.#begin(queued, grants, plan);
    for (const { known, ...reason } of refused) this.#explain(known, reason, plan);
    for (const { known, ...reason } of this.#explainer.shortages(short, reservations)) this.#explain(known, reason, plan);
    const needs = short.map(({ waiting }) => waiting.request);
    plan.bookings.push(...this.#stock.plan(needs, { quota, reservations }));
    const usageIsDue = this.#reportUsage(quota, plan);
    await this.#write(plan, grants);
    this.#explainer.keep(candidates);
    if (this.#retry !== undefined) return soon[this.#retry];
    if (queued.length + refused.length === 0) this.#settled = quota;
    const waits = [
      short.length + refused.length > 0 ? this.#options.explainEvery : undefined,
      usageIsDue,
      untilNextChange(this.#fleet.reservations(), now()),
    ];
    const next = Math.min(...waits.filter((wait) => wait !== undefined));
    return Number.isFinite(next) ? Math.min(next, longestWait) : undefined;
  }

  /**
   * Places those that wait, as far as their limits allow. An order that a limit refuses only when it is placed leaves its share of all limits to younger ones, which are
   * looked at once more.
   */
  #placeAll(candidates: readonly Known[], counting: CountingOptions, usage: ReadonlyMap<string, QueueUsage>): Placed {
    const overLimit = new Map<string, Refusal>();
    const grants: Grant[] = [];
    const placed = new Map<string, Queued>();
    const used = new Map(usage);
    const isOpen = (uid: string): boolean => !overLimit.has(uid) && !placed.has(uid);
    for (let round = 1; ; round++) {
      const { queued, refused } = waitingList(
        candidates.filter(({ uid }) => isOpen(uid)),
        counting,
      );
      const known = new Map(queued.map((one) => [one.waiting.id, one]));
      const before = overLimit.size;
      const result = this.#place(
        queued.map(({ waiting }) => waiting),
        used,
        (grant) => {
          const message = this.#excess(grant, counting.quota);
          // A limit may have refused another model before.
          if (message === undefined) overLimit.delete(grant.waiting.id);
          else overLimit.set(grant.waiting.id, { known: known.get(grant.waiting.id)!.known, reason: 'QuotaExceeded', message });
          return message === undefined;
        },
      );
      grants.push(...result.grants);
      for (const { waiting, placement } of result.grants) {
        placed.set(waiting.id, known.get(waiting.id)!);
        used.set(waiting.tenant, addUsage(used.get(waiting.tenant) ?? noUsage, placement.parts));
      }
      const mayHelp = overLimit.size > before && refused.some(({ reason }) => reason === 'QuotaExceeded');
      if (mayHelp && round < mostRounds) continue;
      const left = queued.filter(({ waiting }) => isOpen(waiting.id));
      return { grants, queued: [...placed.values(), ...left], refused: [...refused, ...overLimit.values()] };
    }
  }

  #place(waiting: readonly Waiting[], usage: ReadonlyMap<string, QueueUsage>, admit?: (grant: Grant) => boolean): PassResult {
    const { now, rules } = this.#options;
    const reservations = this.#reserve(now());
    const totals = this.#fleet.totals();
    const result = runPass(this.#fleet.index, {
      ...{ now: now(), rules, waiting, holds: this.#holds, reservations, usage, totals },
      weights: new Map(),
      ...(admit && { admit }),
    });
    this.#holds = result.holds;
    return result;
  }

  readonly #pathOf = (cluster: string): string | undefined => this.#paths.pathOf(cluster);

  /** Bookings have the path of their workspace; that of a new tenant is read once. */
  async #learnPaths(candidates: readonly Known[], attempts: readonly Attempt[]): Promise<void> {
    for (const { allocation } of attempts) if (allocation.path !== undefined) this.#paths.set(allocation.cluster, allocation.path);
    const unknown = new Map(
      candidates
        .map((known) => [tenantOf(known), known.place.context.client] as const)
        .filter(([cluster]) => this.#pathOf(cluster) === undefined),
    );
    await inParallel(unknown, mostRequests, ([cluster, client]) =>
      this.#guarded(cluster, () => this.#paths.learn(cluster, client, this.#signal())),
    );
  }

  /** Brings the index up to date with the reservations that hold now. */
  #reserve(now: number): readonly Reservation[] {
    for (const one of this.#reservations) liftReservation(this.#fleet.index, one);
    const nodeOf = (name: string): FleetNode | undefined => this.#fleet.node(name);
    this.#reservations = reservationsNow(this.#fleet.reservations(), { nodeOf, pathOf: this.#pathOf }, now);
    return this.#reservations;
  }

  /** Plans to tell tenants their limits. Returns the time until more is due. */
  #reportUsage(quota: PassQuota, plan: Plan): number | undefined {
    const places = new Map(this.#usageReports.told);
    if (!quota.isEmpty) for (const known of this.#tenants.all()) places.set(tenantOf(known), known.place.context.client);
    const usages = [...places].map(([cluster, client]) => {
      const path = this.#pathOf(cluster);
      return { cluster, client, limits: path === undefined ? [] : quota.uses(path) };
    });
    const { writes, wait } = this.#usageReports.due(usages, this.#options.now());
    for (const write of writes) plan.others.push({ name: 'usage', write });
    return wait;
  }

  #isPromised(allocation: AllocationReference): boolean {
    return this.#stock.isPromised(allocation) || this.#direct.isPromised(allocation);
  }

  /** Goes on with attempts, also those that another scheduler has begun. Allocations that no copy has are read. */
  async #goOn(attempts: readonly Attempt[], plan: Plan): Promise<void> {
    const unknown: Attempt[] = [];
    const booked: { readonly attempt: Attempt; readonly known: Known }[] = [];
    for (const attempt of attempts) {
      if (this.#isPromised(attempt.allocation)) continue;
      const known = this.#tenants.find(attempt.allocation.uid);
      if (known === undefined) unknown.push(attempt);
      else booked.push({ attempt, known });
    }
    const heldBack = await this.#record(booked.map(({ attempt, known }) => ({ attempt, allocation: known.allocation })));
    for (const { attempt, known } of booked) if (!heldBack.has(attempt)) this.#advance(attempt, known, plan);
    await inParallel(unknown, mostRequests, (attempt) =>
      this.#guarded(attempt.allocation.name, async () => {
        const read = await this.#tenants.read(attempt.allocation, this.#signal());
        if (read === 'unknown') return;
        const { usage } = this.#options;
        if (read === 'gone') await usage?.vanished(attempt);
        else await usage?.begin([{ attempt, allocation: read }], this.#nodeOf);
        this.#advance(attempt, { allocation: read === 'gone' ? undefined : read }, plan);
      }),
    );
  }

  /** Reports to the usage ledger what has begun. Returns attempts that it does not have yet, and that must not be released therefore. */
  async #record(booked: readonly Booked[]): Promise<ReadonlySet<Attempt>> {
    try {
      await this.#options.usage?.begin(booked, this.#nodeOf);
    } catch (error) {
      if (!(error instanceof HeldBack)) throw error;
      this.#retry = 'failed';
      if (!this.#context.drop.aborted) this.#context.onError(error, { name: 'usage' });
      return error.attempts;
    }
    return new Set();
  }

  readonly #nodeOf = (name: string): FleetNode | undefined => this.#fleet.node(name);

  #advance(attempt: Attempt, known: Known | { readonly allocation: Allocation | undefined }, plan: Plan): void {
    const progress = advance(attempt, { fleet: this.#fleet, allocation: known.allocation });
    if (progress.kind === 'booking') plan.bookings.push(progress.write);
    if (progress.kind === 'confirm' && 'place' in known && hasFinalizer(known.allocation, allocationFinalizer))
      plan.others.push({ name: nameOf(known.allocation), write: (signal) => this.#confirm(known, attempt, signal) });
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
      if (this.#isPromised(referenceTo(known))) continue;
      // At the same time as its first booking: nothing runs before the status, which waits for both.
      if (!isProtected)
        plan.others.push({
          name: nameOf(allocation),
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
      name: nameOf(allocation),
      write: async () => {
        // The ledger first: after this nobody can tell when it ended.
        if (allocation.status?.attempt !== undefined) await this.#options.usage?.end(allocation, tenantOf(known));
        place.allocations.wrote(await removeFinalizer(resourceOf(known), allocation, allocationFinalizer));
      },
    });
  }

  /** Why a limit forbids a placement: the model and the memory may be known only now. */
  #excess({ waiting: { id, tenant }, placement }: Grant, quota: PassQuota): string | undefined {
    const amount = placedAmount(placement.parts, (name) => this.#fleet.node(name));
    const message = quota.admit(id, this.#pathOf(tenant) ?? tenant, amount);
    if (message !== undefined) quota.forget(id);
    return message;
  }

  /** Plans the first booking of each grant. Returns those that were not granted. */
  #begin(queued: readonly Queued[], grants: readonly Grant[], plan: Plan): Queued[] {
    const left = new Map(queued.map((one) => [one.waiting.id, one]));
    for (const { waiting, placement } of grants) {
      const { known } = left.get(waiting.id)!;
      left.delete(waiting.id);
      plan.bookings.push(this.#firstBooking(known, placement.parts));
    }
    return [...left.values()];
  }

  #firstBooking(known: Known, placed: Grant['placement']['parts']): BookingChange {
    const parts = placed.map(({ node, devices, cpu, memory }) => ({ node, devices, cpu, memory }));
    const exclusive = placed[0]!.exclusive ?? false;
    const path = this.#pathOf(tenantOf(known));
    const allocation = { ...referenceTo(known), ...(path !== undefined && { path }) };
    const attempt = { allocation, name: this.#options.newAttempt(), parts, exclusive };
    const [first] = parts;
    const { node } = first!;
    const capacity = this.#fleet.node(node)!;
    const event = parts.length > 1 ? 'hold' : 'grant';
    return { node, change: (spec) => addEntry(spec, entryFor(attempt, first!), { event, capacity }) };
  }

  #explain(known: Known, reason: Reason, plan: Plan): void {
    // Two writes of the same object at once would conflict.
    if (!hasFinalizer(known.allocation, allocationFinalizer)) return;
    const write = this.#explainer.write(known, reason);
    if (write !== undefined) plan.others.push({ name: nameOf(known.allocation), write });
  }

  async #confirm(known: Known, attempt: Attempt, signal: AbortSignal): Promise<Allocation> {
    const { allocation, place } = known;
    const written = await writeStatus(known, grantedStatus(allocation, attempt, new Date(this.#options.now())), signal);
    this.#options.usage?.granted(known.uid);
    place.context.events.normal(allocation, 'Granted', wordsFor(attempt.parts));
    return written;
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
        ({ name, write }) =>
          () =>
            this.#guarded(name, () => write(this.#signal())),
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

  /** The requests of the same second share one. */
  #signal(): AbortSignal {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.since > 1_000)
      this.#shared = { since: now, signal: AbortSignal.any([this.#context.drop, AbortSignal.timeout(patience)]) };
    return this.#shared.signal;
  }
}

function nameOf({ metadata }: Allocation): string {
  return metadata.name ?? '';
}

import { type Allocation, type AllocationReference, asAllocationId, type BookingEntry } from '@capstan/api';
import {
  type Attempt,
  addEntry,
  advanceEntry,
  type FleetNode,
  handOver,
  isEntry,
  type PlacementRequest,
  type Reservation,
} from '@capstan/fleet';
import type { BookingChange, BookingWriter } from '../allocations/booking-writer.ts';
import type { FleetCopy } from '../allocations/fleet-copy.ts';
import { type PassQuota, placedAmount } from '../allocations/quota.ts';
import type { Known, Tenants } from '../allocations/tenants.ts';
import type { WorkspacePaths } from '../allocations/workspaces.ts';
import { both } from '../reconciling/both.ts';
import { isSameMark, newEntry, type WarmUnit, wantedStock } from './mark.ts';
import { isUsable, nextStock, type StockPlan } from './next-stock.ts';
import { pauseLeft } from './pause.ts';
import type { Order, Promised, Shelf } from './stockroom.ts';

export interface KeeperOptions {
  readonly fleet: FleetCopy;
  readonly tenants: Tenants;
  readonly paths: WorkspacePaths;
  readonly writer: BookingWriter;
  /** Whether the node has prepared it. */
  readonly isReady: (unit: WarmUnit) => boolean;
  readonly newAttempt: () => string;
  /** Names the attempt in the status of its allocation. */
  readonly confirm: (known: Known, attempt: Attempt, signal: AbortSignal) => Promise<Allocation>;
  readonly signal: () => AbortSignal;
  /** Asks for another pass, at once or after so many milliseconds. */
  readonly again: (after?: number) => void;
  readonly now: () => number;
}

/** The state of a pass that promises depend on. */
export interface PassState {
  readonly quota: PassQuota;
  readonly reservations: readonly Reservation[];
}

interface Promising {
  readonly unit: WarmUnit;
  readonly path: string;
  isBooked: boolean;
}

/** A write fails if somebody else was faster; then the booking is read again. */
const mostTries = 4;
/** In milliseconds: the unit that was taken starts before the next one is prepared, because both need the same servers and the same node. */
const refillAfter = 500;

/** Keeps the stock, and gives warm units away between two passes of the scheduler. A promise is in memory only: after a crash, the bookings say who has what. */
export class StockKeeper implements Shelf {
  readonly #options: KeeperOptions;
  readonly #promises = new Map<string, Promising>();
  /** When a warm unit was taken last. */
  #takenAt = Number.NEGATIVE_INFINITY;
  /** Undefined before the first pass. */
  #open: (PassState & Pick<StockPlan, 'isNeeded'>) | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Whether an allocation is about to get a warm unit, so that the scheduler leaves it alone. */
  isPromised(allocation: Pick<AllocationReference, 'cluster' | 'namespace' | 'name'>): boolean {
    return this.#promises.size > 0 && this.#promises.has(keyOf(allocation));
  }

  /** Counts what was promised, and is in no booking yet. */
  count(quota: PassQuota): void {
    for (const [key, { unit, path, isBooked }] of this.#promises) if (!isBooked) quota.count(key, path, this.#amountOf(unit));
    if (this.#open !== undefined) this.#open = { ...this.#open, quota };
  }

  /** The writes that follow from the stock that owners want, and from the orders that wait. */
  plan(needs: readonly PlacementRequest[], state: PassState): BookingChange[] {
    const { fleet, isReady } = this.#options;
    const units = fleet.warmUnits();
    const wanted = fleet.offerings().flatMap((offering) => wantedStock(offering) ?? []);
    if (units.length + wanted.length === 0) return [];
    const promised = new Set(this.#promises.values().map(({ unit }) => unit.entry.attempt));
    const shelf = units.map((unit) => ({ ...unit, isPromised: promised.has(unit.entry.attempt), isReady: isReady(unit) }));
    const { giveUp, add, isNeeded } = nextStock({ index: fleet.index, nodeOf: this.#nodeOf, wanted, shelf, needs });
    this.#open = { ...state, isNeeded };
    const pause = pauseLeft(refillAfter, { since: this.#takenAt, now: this.#options.now() });
    if (pause > 0 && add.length > 0) this.#options.again(pause);
    return [
      ...giveUp.map(({ node, entry }): BookingChange => {
        const key = { uid: entry.allocation.uid, attempt: entry.attempt };
        return { node, change: (spec) => advanceEntry(spec, key, 'abandon') };
      }),
      ...(pause > 0 ? [] : add).map(({ wanted: one, part }): BookingChange => {
        const entry = newEntry(one, part, this.#options.newAttempt());
        const capacity = fleet.node(part.node)!;
        return { node: part.node, change: (spec) => addEntry(spec, entry, { event: 'grant', capacity }) };
      }),
    ];
  }

  async promise(order: Order): Promise<Promised | undefined> {
    const { tenants, paths, signal, again } = this.#options;
    const place = tenants.onlyPlace;
    if (place === undefined || this.#choose(order) === undefined) return undefined;
    await paths.learn(order.cluster, place.context.client, signal());
    const path = paths.pathOf(order.cluster);
    const unit = this.#choose(order);
    const { quota } = this.#open ?? {};
    const key = keyOf(order);
    if (unit === undefined || quota === undefined || this.#promises.has(key)) return undefined;
    if (!quota.isEmpty && (path === undefined || quota.admit(key, path, this.#amountOf(unit)) !== undefined)) return undefined;
    const promising: Promising = { unit, path: path ?? order.cluster, isBooked: false };
    this.#promises.set(key, promising);
    this.#takenAt = this.#options.now();
    return {
      take: async (allocation, onBooked) => {
        const { name = '', namespace = '', uid = '' } = allocation.metadata;
        const { cluster } = order;
        const reference = { cluster, namespace, name, uid: asAllocationId(uid), ...(path !== undefined && { path }) };
        const entry = await this.#handOver(unit, reference);
        promising.isBooked = true;
        if (entry === undefined) return undefined;
        const { devices, cpu, memory, exclusive = false } = entry;
        const parts = [{ node: unit.node, devices, cpu, memory }];
        const attempt = { allocation: reference, name: entry.attempt, parts, exclusive, entries: new Map([[unit.node, entry]]) };
        return both(this.#options.confirm({ uid, allocation, place }, attempt, signal()), onBooked(unit.node));
      },
      [Symbol.dispose]: () => {
        this.#promises.delete(key);
        again();
      },
    };
  }

  #choose({ cluster, warm }: Order): WarmUnit | undefined {
    const { fleet, isReady } = this.#options;
    const offering = warm && fleet.offering(warm.offering);
    const wanted = offering && wantedStock(offering);
    const open = this.#open;
    if (wanted === undefined || wanted.mark.image !== warm?.image || open === undefined) return undefined;
    const others = new Set(open.reservations.filter((one) => !one.isFor(cluster)).flatMap(({ parts }) => parts.map(({ node }) => node)));
    const promised = new Set(this.#promises.values().map(({ unit }) => unit.entry.attempt));
    return fleet
      .warmUnits()
      .find(
        (unit) =>
          isSameMark(unit.entry.stock, wanted.mark) &&
          !promised.has(unit.entry.attempt) &&
          !others.has(unit.node) &&
          isUsable(unit, this.#nodeOf) &&
          isReady(unit) &&
          !open.isNeeded(unit.node),
      );
  }

  /** The compare-and-swap that decides. Undefined if somebody else has the unit, or it was given up. */
  async #handOver({ node, entry }: WarmUnit, allocation: AllocationReference): Promise<BookingEntry | undefined> {
    const { writer, signal } = this.#options;
    const key = { uid: entry.allocation.uid, attempt: entry.attempt };
    for (let tries = 0; tries < mostTries; tries++) {
      const isWritten = await writer.write(node, [{ node, change: (spec) => handOver(spec, key, allocation) }], signal());
      const own = writer.specOf(node).entries.find((one) => isEntry(one, { uid: allocation.uid, attempt: key.attempt }));
      if (own !== undefined || isWritten) return own;
      await writer.refresh(node, signal());
    }
    return undefined;
  }

  readonly #nodeOf = (name: string): FleetNode | undefined => this.#options.fleet.node(name);

  #amountOf({ node, entry }: WarmUnit) {
    return placedAmount([{ node, ...entry }], this.#nodeOf);
  }
}

function keyOf({ cluster, namespace, name }: Pick<AllocationReference, 'cluster' | 'namespace' | 'name'>): string {
  return `${cluster}/${namespace}/${name}`;
}

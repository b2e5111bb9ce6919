import type { FleetIndex, Placement } from '../placement/fleet-index.ts';
import type { PlacementRequest } from '../placement/request.ts';
import { fairOrder } from './fair-order.ts';
import { type Hold, type Holding, layHold, liftHold } from './hold.ts';
import { isKeeping, layReservation, liftReservation, type Reservation, withOwnReservations } from './reservation.ts';
import { addUsage, compareAge, noUsage, type Usage, type Waiting, weightedShare } from './waiting.ts';

export interface QueueRules {
  /** How long a request waits until devices are held for it. */
  readonly holdAfter: number;
  /** How long a hold lasts. */
  readonly holdFor: number;
  /** How many requests hold devices at the same time. */
  readonly mostHolds: number;
}

export interface PassInput {
  readonly now: number;
  readonly rules: QueueRules;
  readonly waiting: readonly Waiting[];
  /** Those of the last pass. */
  readonly holds: readonly Hold[];
  readonly reservations: readonly Reservation[];
  /** The current use of tenants, and the whole fleet. */
  readonly usage: ReadonlyMap<string, Usage>;
  readonly totals: Usage;
  /** 1 if absent. */
  readonly weights: ReadonlyMap<string, number>;
  /**
   * Whether limits allow a placement, which is known only now. Other kinds of GPUs are tried after one that they refuse. A request of which they refuse all books
   * nothing, holds nothing, and leaves what was found to the others. By default, everything is allowed.
   */
  readonly admit?: (grant: Grant) => boolean;
}

export interface PassResult {
  /** Booked in the index under the ids of the requests. If a grant cannot be written, free it there. */
  readonly grants: readonly Grant[];
  readonly holds: readonly Hold[];
}

export interface Grant {
  readonly waiting: Waiting;
  readonly placement: Placement;
}

type Trial = 'granted' | 'short' | 'refused';

/** Gives what is free to those who wait for it. Nothing that runs is touched. */
export function runPass(index: FleetIndex, input: PassInput): PassResult {
  return new Pass(index, input).run();
}

class Pass {
  readonly #index: FleetIndex;
  readonly #input: PassInput;
  readonly #grants: Grant[] = [];
  readonly #holds = new Map<string, Hold>();
  readonly #usage: Map<string, Usage>;
  readonly #reservations: readonly Reservation[];
  /** Reservations by the tenant that they are for. */
  readonly #own = new Map<string, readonly Reservation[]>();
  /** Requests that have failed in this pass, by the tenant with reservations: what is free only shrinks, so the same request fails again. */
  readonly #failed = new Map<PlacementRequest, Set<string | undefined>>();

  constructor(index: FleetIndex, input: PassInput) {
    this.#index = index;
    this.#input = input;
    this.#usage = new Map(input.usage);
    this.#reservations = input.reservations.filter(({ until }) => until > input.now);
  }

  run(): PassResult {
    this.#keep();
    const favoured = this.#overdue();
    const rest = this.#input.waiting.filter(({ id }) => !favoured.has(id));
    for (const waiting of fairOrder(rest, (tenant) => this.#shareOf(tenant))) this.#try(waiting);
    return { grants: this.#grants, holds: [...this.#holds.values()] };
  }

  /** Brings reservations up to date, and ends holds and reservations that have expired. */
  #keep(): void {
    const { now, reservations, holds, waiting, rules } = this.#input;
    for (const one of reservations) {
      if (one.until > now) layReservation(this.#index, one);
      else liftReservation(this.#index, one);
    }
    const known = new Set(waiting.map(({ id }) => id));
    for (const hold of holds) {
      const isOver = hold.until <= now;
      if (hold.kind === 'holding' && (isOver || !known.has(hold.id))) liftHold(this.#index, hold);
      if (!known.has(hold.id)) continue;
      if (!isOver) this.#holds.set(hold.id, hold);
      else if (hold.kind === 'holding') this.#holds.set(hold.id, { kind: 'resting', id: hold.id, until: hold.until + rules.holdAfter });
    }
  }

  /**
   * Serves requests that hold devices, and then the oldest of those that have waited too long: they come before everybody, whatever their
   * priority and share, or they might wait forever. Returns the ids of all that were served here.
   */
  #overdue(): Set<string> {
    const { now, rules, waiting } = this.#input;
    const isHolding = ({ id }: Waiting): boolean => this.#holds.get(id)?.kind === 'holding';
    const holding = waiting.filter(isHolding).sort(compareAge);
    for (const one of holding) this.#serveHolding(one, this.#holds.get(one.id) as Holding);
    const served = new Set(holding.map(({ id }) => id));
    const candidates = waiting.filter((one) => now - one.since >= rules.holdAfter && !this.#holds.has(one.id) && !served.has(one.id));
    for (const one of candidates.sort(compareAge)) {
      if (this.#countHolds() >= rules.mostHolds) break;
      if (this.#try(one) !== 'short' || this.#beginHold(one, now + rules.holdFor)) served.add(one.id);
    }
    return served;
  }

  #serveHolding(waiting: Waiting, hold: Holding): void {
    liftHold(this.#index, hold);
    this.#holds.delete(waiting.id);
    if (this.#grant(waiting) !== 'short') return;
    if (layHold(this.#index, waiting, hold.nodes)) this.#holds.set(waiting.id, hold);
    else this.#beginHold(waiting, hold.until);
  }

  #beginHold(waiting: Waiting, until: number): boolean {
    const isKept = (node: string): boolean => this.#index.bookings(node).keys().some(isKeeping);
    const nodes = this.#index.targets(waiting.request, (node) => !isKept(node));
    if (nodes === undefined || !layHold(this.#index, waiting, nodes)) return false;
    this.#holds.set(waiting.id, { kind: 'holding', id: waiting.id, nodes, until });
    return true;
  }

  #countHolds(): number {
    return this.#holds
      .values()
      .filter(({ kind }) => kind === 'holding')
      .toArray().length;
  }

  /** Requests that many share are one object, so that a long queue of them costs little. */
  #try(waiting: Waiting): Trial {
    const { request, tenant } = waiting;
    const privileged = this.#ownOf(tenant).length > 0 ? tenant : undefined;
    const failed = this.#failed.get(request);
    if (failed?.has(privileged)) return 'short';
    const trial = this.#grant(waiting);
    if (trial !== 'short') return trial;
    if (failed === undefined) this.#failed.set(request, new Set([privileged]));
    else failed.add(privileged);
    return 'short';
  }

  /** Places the request; its tenant's reservations count as free. */
  #grant(waiting: Waiting): Trial {
    const found = withOwnReservations(this.#index, this.#ownOf(waiting.tenant), () => {
      let isRefused = false;
      const placement = this.#index.find(waiting.request, (one) => {
        const isAdmitted = this.#input.admit?.({ waiting, placement: one }) !== false;
        isRefused ||= !isAdmitted;
        return isAdmitted;
      });
      if (placement === undefined) return isRefused ? 'refused' : 'short';
      for (const part of placement.parts) this.#index.book(waiting.id, part);
      return placement;
    });
    if (typeof found === 'string') return found;
    this.#grants.push({ waiting, placement: found });
    this.#usage.set(waiting.tenant, addUsage(this.#usage.get(waiting.tenant) ?? noUsage, found.parts));
    return 'granted';
  }

  #ownOf(tenant: string): readonly Reservation[] {
    let own = this.#own.get(tenant);
    if (own === undefined) this.#own.set(tenant, (own = this.#reservations.filter((one) => one.isFor(tenant))));
    return own;
  }

  #shareOf(tenant: string): number {
    return weightedShare(this.#usage.get(tenant) ?? noUsage, this.#input.totals, this.#input.weights.get(tenant) ?? 1);
  }
}

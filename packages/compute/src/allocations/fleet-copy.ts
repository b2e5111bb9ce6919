import {
  type FleetQuota,
  type FleetQuotaSpec,
  fleetQuotaKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeReservation,
  type NodeVolume,
  nodeBookingKind,
  nodeReservationKind,
  nodeVolumeKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import type { Informer, InformerFactory } from '@capstan/client';
import { type Attempt, attemptsIn, FleetIndex, type FleetNode, isKeeping, type Usage } from '@capstan/fleet';
import { isWarmUnit, type WarmUnit } from '../stock/mark.ts';
import { fleetNodeOf } from './fleet-node.ts';
import { Latest } from './latest.ts';

/** Everything in root:platform that the scheduler reads, with the index that places requests. */
export class FleetCopy implements Disposable {
  readonly index = new FleetIndex();
  readonly bookings: Latest<NodeBooking>;
  readonly #nodes = new Map<string, FleetNode>();
  readonly #offerings: Informer<Offering>;
  readonly #quotas: Informer<FleetQuota>;
  readonly #reservations: Informer<NodeReservation>;
  readonly #volumes: Informer<NodeVolume>;
  readonly #following: readonly Disposable[];
  /** By node. */
  readonly #warm = new Map<string, readonly WarmUnit[]>();
  /** Attempts with one node, by the booking that they were found in. */
  readonly #single = new WeakMap<NodeBooking, readonly Attempt[]>();

  constructor(informers: InformerFactory, onChange: () => void) {
    this.#offerings = informers.informer<Offering>(offeringKind);
    this.#quotas = informers.informer<FleetQuota>(fleetQuotaKind);
    this.#reservations = informers.informer<NodeReservation>(nodeReservationKind);
    this.#volumes = informers.informer<NodeVolume>(nodeVolumeKind);
    const following = [
      informers.informer<GPUNode>(gpuNodeKind).onChange(({ type, object }) => {
        if (type === 'deleted') this.#removeNode(object.metadata.name ?? '');
        else this.#setNode(fleetNodeOf(object));
        onChange();
      }),
      this.#offerings.onChange(onChange),
      this.#quotas.onChange(onChange),
      this.#reservations.onChange(onChange),
    ];
    this.bookings = new Latest(informers.informer<NodeBooking>(nodeBookingKind), {
      keyOf: ({ metadata }) => metadata.name ?? '',
      onChange: (node, booking) => {
        this.#setBooking(node, booking);
        onChange();
      },
    });
    this.#following = [...following, this.bookings];
  }

  /** Asks for the informers, so that they can be waited for. */
  static prepare(informers: InformerFactory): void {
    for (const kind of [gpuNodeKind, nodeBookingKind, offeringKind, fleetQuotaKind, nodeReservationKind, nodeVolumeKind])
      informers.informer(kind);
  }

  node(name: string): FleetNode | undefined {
    return this.#nodes.get(name);
  }

  offering(name: string): Offering | undefined {
    return this.#offerings.get({ name });
  }

  offerings(): Offering[] {
    return this.#offerings.list();
  }

  /** Devices that the platform keeps for later orders. */
  warmUnits(): WarmUnit[] {
    return [...this.#warm.values()].flat();
  }

  quotas(): FleetQuotaSpec[] {
    return this.#quotas.list().map(({ spec }) => spec);
  }

  /** The files of storages. They do not move allocations, and are only counted. */
  volumes(): NodeVolume[] {
    return this.#volumes.list();
  }

  reservations(): readonly NodeReservation[] {
    return this.#reservations.list();
  }

  /** Most bookings are as they were in the last pass, and most attempts have one node: those are not looked for again. */
  attempts(): Attempt[] {
    const found: Attempt[] = [];
    const gangs: [string, NodeBooking['spec']][] = [];
    for (const [node, booking] of this.bookings.entries()) {
      let single = this.#single.get(booking);
      if (single === undefined) {
        const entries = booking.spec.entries.filter(({ gang }) => gang === undefined);
        this.#single.set(booking, (single = attemptsIn([[node, { entries }]])));
      }
      for (const one of single) found.push(one);
      if (single.length < booking.spec.entries.length) {
        const entries = booking.spec.entries.filter(({ gang }) => gang !== undefined);
        if (entries.length > 0) gangs.push([node, { entries }]);
      }
    }
    for (const one of attemptsIn(gangs)) found.push(one);
    return found;
  }

  /** All that the fleet has. */
  totals(): Usage {
    let [gpus, cpu, memory] = [0, 0, 0];
    for (const node of this.#nodes.values()) {
      gpus += node.gpus.length;
      cpu += node.cpu;
      memory += node.memory;
    }
    return { gpus, cpu, memory };
  }

  [Symbol.dispose](): void {
    for (const one of this.#following) one[Symbol.dispose]();
  }

  #setNode(node: FleetNode): void {
    this.#nodes.set(node.name, node);
    this.index.setNode(node);
  }

  #removeNode(name: string): void {
    this.#nodes.delete(name);
    this.index.removeNode(name);
  }

  #setBooking(node: string, booking: NodeBooking | undefined): void {
    const entries = booking?.spec.entries ?? [];
    const warm = entries.filter(isWarmUnit).map((entry) => ({ node, entry }));
    if (warm.length > 0) this.#warm.set(node, warm);
    else this.#warm.delete(node);
    this.index.setBookings(node, new Map(entries.map((entry) => [`${entry.allocation.uid}/${entry.attempt}`, entry])), isKeeping);
  }
}

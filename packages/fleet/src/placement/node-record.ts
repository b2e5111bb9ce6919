import { largestLinked } from './devices.ts';
import { type Booked, type Device, type FleetNode, isUsable } from './node.ts';
import { kindOf, noGpus, type Shape, shapeOf } from './shape.ts';

/** The GPUs of one shape on a node. */
export interface Stock {
  readonly shape: Shape;
  readonly gpus: readonly Device[];
  /** Usable and not booked, in the node's order. */
  free: readonly Device[];
  /** The most of them that are connected by NVLink. */
  linked: number;
}

/** Bookings and reservations of a node, by owner. They outlive the node: an answer about a node that comes back must respect them. */
export type Bookings = Map<string, Booked>;

/** Keeps a node in its place in an index. */
export interface Membership {
  /** After something was booked or released on the node. */
  move(): void;
  leave(): void;
}

/** A node and what of it is free. */
export class NodeRecord {
  readonly name: string;
  readonly node: FleetNode;
  readonly bookings: Bookings;
  /** One for each shape. */
  readonly stocks: readonly Stock[];
  /** All GPUs, for requests that need none or all. */
  readonly whole: Stock;
  /** One for each index that the node is in. */
  memberships: Membership[] = [];
  freeCpu = 0;
  freeMemory = 0;
  /** Nothing is booked or reserved. */
  isEmpty = true;

  constructor(node: FleetNode, bookings: Bookings) {
    this.name = node.name;
    this.node = node;
    this.bookings = bookings;
    const kinds = Map.groupBy(node.gpus, kindOf).values();
    this.stocks = [...kinds.map((gpus) => ({ shape: shapeOf(gpus[0]!, gpus.length), gpus, free: [], linked: 0 }))];
    this.whole = { shape: noGpus, gpus: node.gpus, free: [], linked: 0 };
    this.refresh();
  }

  /** Whether new allocations may go there. */
  get isOpen(): boolean {
    return !this.node.cordoned && this.node.ready === 'True';
  }

  /** Computes what is free, after bookings have changed. */
  refresh(): void {
    let { cpu, memory } = this.node;
    let isWhole = false;
    const taken = new Set<string>();
    for (const one of this.bookings.values()) {
      cpu -= one.cpu;
      memory -= one.memory;
      isWhole ||= one.exclusive ?? false;
      for (const device of one.devices) taken.add(device);
    }
    this.isEmpty = this.bookings.size === 0;
    // Not even a request for nothing fits beside an exclusive booking.
    this.freeCpu = isWhole ? Number.NEGATIVE_INFINITY : cpu;
    this.freeMemory = isWhole ? Number.NEGATIVE_INFINITY : memory;
    for (const stock of this.stocks) {
      stock.free = isWhole ? [] : stock.gpus.filter((device) => isUsable(device) && !taken.has(device.uuid));
      stock.linked = largestLinked(stock.free);
    }
    this.whole.free = this.stocks.length === 1 ? this.stocks[0]!.free : this.stocks.flatMap(({ free }) => free);
  }
}

import type { Allocation, AllocationSpec } from '@capstan/api';

/** The order of a start of a unit on one node. */
export interface Order {
  readonly cluster: string;
  readonly namespace: string;
  /** Of the Allocation, which does not exist yet. */
  readonly name: string;
  readonly spec: AllocationSpec;
  /** The warm units that would do. */
  readonly warm?: WarmWish;
}

export interface WarmWish {
  readonly offering: string;
  readonly image: string | undefined;
}

/** Devices that nobody else gets until this is disposed of. The scheduler leaves the allocation alone until then. */
export interface Promised extends Disposable {
  /**
   * Gives them to the allocation, and returns the allocation as it is then; undefined if they could not be had. `onBooked` is called with the node as soon as they are booked,
   * while the allocation is told about it.
   */
  take(allocation: Allocation, onBooked: (node: string) => Promise<void>): Promise<Allocation | undefined>;
}

/** Gives devices away between two passes of the scheduler: warm units, or free ones that nobody waits for. */
export interface Shelf {
  /** Undefined if none fits, if an order waits for devices, or if a limit forbids it: then the order takes its turn in the queue. */
  promise(order: Order): Promise<Promised | undefined>;
}

/** Where the controller of units finds the scheduler of the same process. Nothing depends on it: without it, every order is queued. */
export class Stockroom implements Shelf {
  #shelf: Shelf | undefined;

  open(shelf: Shelf): Disposable {
    this.#shelf = shelf;
    return {
      [Symbol.dispose]: () => {
        if (this.#shelf === shelf) this.#shelf = undefined;
      },
    };
  }

  promise(order: Order): Promise<Promised | undefined> {
    return this.#shelf?.promise(order) ?? Promise.resolve(undefined);
  }
}

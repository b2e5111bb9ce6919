import { takeFrom } from './demand.ts';
import { placeNamed } from './named.ts';
import type { Booked, FleetNode, PlacedPart } from './node.ts';
import { type Bookings, NodeRecord } from './node-record.ts';
import type { PlacementRequest } from './request.ts';
import { search } from './search.ts';
import { explain, type Shortage } from './shortage.ts';
import { portionOn, targetsFor } from './targets.ts';
import { nameOfView, View, type ViewKey } from './view.ts';

export interface Placement {
  readonly kind: 'placed';
  /** One for each node. */
  readonly parts: readonly PlacedPart[];
}

/** Selectors come from offerings, of which there are few. Building a view costs a look at every node; when there are too many, all start over. */
const mostViews = 64;

/**
 * Everything about the fleet that placing needs, in memory and indexed. Nodes and bookings go in one by one, as they change; the same
 * nodes and bookings give the same answers, in whatever order they came. There is no clock and no client.
 */
export class FleetIndex {
  readonly #records = new Map<string, NodeRecord>();
  readonly #bookings = new Map<string, Bookings>();
  readonly #views = new Map<string, View>();

  /** All nodes, as they were set. */
  get nodes(): IteratorObject<FleetNode> {
    return this.#records.values().map(({ node }) => node);
  }

  setNode(node: FleetNode): void {
    this.#forget(node.name);
    const record = new NodeRecord(node, this.#bookingsOf(node.name));
    this.#records.set(node.name, record);
    for (const view of this.#views.values()) view.add(record);
  }

  /** Its bookings are kept: they are about a node that may come back. */
  removeNode(name: string): void {
    this.#forget(name);
    this.#records.delete(name);
    if (this.#bookings.get(name)?.size === 0) this.#bookings.delete(name);
  }

  /** Books a part of a node for an owner, replacing what the owner had there. */
  book(owner: string, part: PlacedPart): void {
    this.#change(part.node, (bookings) => bookings.set(owner, part));
  }

  /** Frees what the owner has on the node. */
  free(owner: string, node: string): void {
    this.#change(node, (bookings) => bookings.delete(owner));
  }

  /** Replaces everything that is booked on a node by owners that `isKept` does not name, such as reservations. */
  setBookings(node: string, booked: ReadonlyMap<string, Booked>, isKept: (owner: string) => boolean = () => false): void {
    this.#change(node, (bookings) => {
      for (const owner of bookings.keys()) if (!isKept(owner)) bookings.delete(owner);
      for (const [owner, one] of booked) bookings.set(owner, one);
    });
  }

  /** Finds nodes and devices, and books nothing. A placement that is not admitted, such as by a limit, is followed by one with another kind of GPUs if there is any. */
  find(request: PlacementRequest, admit: (placement: Placement) => boolean = () => true): Placement | undefined {
    return this.#placements(request).find(admit);
  }

  /** Like `find`, with the reason if there is no answer. The reason costs a look at every node. */
  place(request: PlacementRequest): Placement | Shortage {
    return this.find(request) ?? explain(request, this.#records);
  }

  /** Nodes that could answer the request first if what is on them were released; for requests that have waited long. Looks at every node. */
  targets(request: PlacementRequest, isAllowed: (node: string) => boolean = () => true): string[] | undefined {
    return targetsFor(
      request,
      this.#records.values().filter(({ name }) => isAllowed(name)),
    );
  }

  /** As much of the request as is free on the node, or undefined if the node cannot be used for it any more. */
  portion(request: PlacementRequest, node: string): PlacedPart | undefined {
    const record = this.#records.get(node);
    return record && portionOn(request, record);
  }

  /** Everything that is booked on a node, by owner. */
  bookings(node: string): ReadonlyMap<string, Booked> {
    return this.#bookings.get(node) ?? new Map();
  }

  *#placements(request: PlacementRequest): Generator<Placement> {
    if (request.named !== undefined) {
      const part = placeNamed(request, request.named, this.#records.get(request.named.node));
      if (typeof part !== 'string') yield { kind: 'placed', parts: [part] };
      return;
    }
    if (request.nodes < 1) return;
    for (const found of search(request, (key) => this.#viewOf(key)))
      yield { kind: 'placed', parts: found.map(({ record, stock }) => takeFrom(record, stock, request.size)) };
  }

  #bookingsOf(name: string): Bookings {
    let bookings = this.#bookings.get(name);
    if (bookings === undefined) this.#bookings.set(name, (bookings = new Map()));
    return bookings;
  }

  #viewOf(key: ViewKey): View {
    const name = nameOfView(key);
    let view = this.#views.get(name);
    if (view !== undefined) return view;
    if (this.#views.size >= mostViews) {
      this.#views.clear();
      for (const record of this.#records.values()) record.memberships = [];
    }
    this.#views.set(name, (view = new View(key, this.#records.values())));
    return view;
  }

  #forget(name: string): void {
    for (const membership of this.#records.get(name)?.memberships ?? []) membership.leave();
  }

  #change(name: string, change: (bookings: Bookings) => void): void {
    const bookings = this.#bookingsOf(name);
    change(bookings);
    const record = this.#records.get(name);
    if (record === undefined) {
      if (bookings.size === 0) this.#bookings.delete(name);
      return;
    }
    record.refresh();
    for (const membership of record.memberships) membership.move();
  }
}

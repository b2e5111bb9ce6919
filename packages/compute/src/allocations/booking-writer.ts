import { type NodeBooking, type NodeBookingSpec, newObject, nodeBookingKind } from '@capstan/api';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { type Change, emptyBooking } from '@capstan/fleet';
import type { JsonObject } from '@capstan/machinery';
import type { Latest } from './latest.ts';

/** A change of the booking of one node. */
export interface BookingChange {
  readonly node: string;
  readonly change: (spec: NodeBookingSpec) => Change;
}

export interface BookingWriterOptions {
  /** In root:platform. */
  readonly client: Client;
  readonly bookings: Latest<NodeBooking>;
}

/** Writes bookings. Every write is a compare-and-swap: it fails if the booking is not as it was read. */
export class BookingWriter {
  readonly #client: Client;
  readonly #bookings: Latest<NodeBooking>;

  constructor({ client, bookings }: BookingWriterOptions) {
    this.#client = client;
    this.#bookings = bookings;
  }

  specOf(node: string): NodeBookingSpec {
    return this.#bookings.get(node)?.spec ?? emptyBooking;
  }

  /** Makes all changes of one node in one write. A change that is refused is left out. False if somebody else was faster: read, and decide again. */
  async write(node: string, changes: readonly BookingChange[], signal: AbortSignal): Promise<boolean> {
    let spec = this.specOf(node);
    for (const { change } of changes) {
      const next = change(spec);
      if (next.kind === 'write') spec = next.spec;
    }
    if (spec === this.specOf(node)) return true;
    try {
      this.#bookings.wrote(await this.#send(node, spec, signal));
      return true;
    } catch (error) {
      if (isNotFound(error)) this.#bookings.forget(node);
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  #send(node: string, spec: NodeBookingSpec, signal: AbortSignal): Promise<NodeBooking> {
    const resource = this.#client.resource<NodeBooking>(nodeBookingKind);
    const known = this.#bookings.get(node);
    if (known === undefined) return resource.create(newObject(nodeBookingKind, { metadata: { name: node }, spec }), { signal });
    const { resourceVersion = '' } = known.metadata;
    return resource.patch(
      node,
      { type: 'merge', patch: { metadata: { resourceVersion }, spec: spec as unknown as JsonObject } },
      { signal },
    );
  }
}

import { type NodeBooking, type NodeBookingSpec, newObject, nodeBookingKind } from '@capstan/api';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
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

interface Batch {
  readonly changes: BookingChange[];
  readonly result: Promise<boolean>;
}

/**
 * Writes bookings. Every write is a compare-and-swap: it fails if the booking is not as it was read. Changes of a node that is being written wait, and are written together.
 */
export class BookingWriter {
  readonly #client: Client;
  readonly #bookings: Latest<NodeBooking>;
  readonly #writing = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Batch>();

  constructor({ client, bookings }: BookingWriterOptions) {
    this.#client = client;
    this.#bookings = bookings;
  }

  specOf(node: string): NodeBookingSpec {
    return this.#bookings.get(node)?.spec ?? emptyBooking;
  }

  /** Makes all changes of one node in one write. A change that is refused is left out. False if somebody else was faster: read, and decide again. */
  write(node: string, changes: readonly BookingChange[], signal: AbortSignal): Promise<boolean> {
    const waiting = this.#next.get(node);
    if (waiting !== undefined) {
      waiting.changes.push(...changes);
      return waiting.result;
    }
    const before = this.#writing.get(node);
    if (before === undefined) return this.#follow(node, this.#write(node, changes, signal));
    const all = [...changes];
    const result = before.then(() => {
      this.#next.delete(node);
      return this.#follow(node, this.#write(node, all, signal));
    });
    this.#next.set(node, { changes: all, result });
    return result;
  }

  /** Reads a booking that somebody else has written. */
  async refresh(node: string, signal: AbortSignal): Promise<void> {
    const found = await ignoring(this.#client.resource<NodeBooking>(nodeBookingKind).get(node, { signal }), isNotFound);
    if (found === undefined) this.#bookings.forget(node);
    else this.#bookings.wrote(found);
  }

  #follow(node: string, result: Promise<boolean>): Promise<boolean> {
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#writing.set(node, settled);
    void settled.then(() => {
      if (this.#writing.get(node) === settled) this.#writing.delete(node);
    });
    return result;
  }

  async #write(node: string, changes: readonly BookingChange[], signal: AbortSignal): Promise<boolean> {
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

import type { FleetIndex } from '../placement/fleet-index.ts';
import type { PlacedPart } from '../placement/node.ts';

/**
 * Devices that people keep for tenants. They take what is free of them, and what becomes free; nothing is taken from anybody. A `Hold` is something else: the queue keeps
 * devices for a request that has waited long.
 */
export interface Reservation {
  readonly id: string;
  readonly isFor: (tenant: string) => boolean;
  readonly until: number;
  readonly parts: readonly PlacedPart[];
}

const prefix = 'reservation/';
export const holdPrefix = 'hold/';

/** Whether the owner of a booking only keeps devices for somebody, and does not use them. */
export function isKeeping(owner: string): boolean {
  return owner.startsWith(prefix) || owner.startsWith(holdPrefix);
}

/** Keeps for the reservation what is not in use. */
export function layReservation(index: FleetIndex, { id, parts }: Reservation): void {
  for (const part of parts) {
    const owner = prefix + id;
    const others = [...index.bookings(part.node)].filter(([other]) => other !== owner).map(([, booked]) => booked);
    const taken = new Set(others.flatMap(({ devices }) => devices));
    const within = others.filter(({ devices }) => devices.some((uuid) => part.devices.includes(uuid)));
    const left = (what: 'cpu' | 'memory'): number =>
      Math.max(
        0,
        within.reduce((amount, one) => amount - one[what], part[what]),
      );
    const devices = part.devices.filter((uuid) => !taken.has(uuid));
    if (devices.length === 0 && part.devices.length > 0) index.free(owner, part.node);
    else index.book(owner, { node: part.node, devices, cpu: left('cpu'), memory: left('memory'), kept: 'reserved' });
  }
}

export function liftReservation(index: FleetIndex, { id, parts }: Pick<Reservation, 'id' | 'parts'>): void {
  for (const { node } of parts) index.free(prefix + id, node);
}

/** Runs `work` while the devices that are reserved for a tenant count as free. */
export function withOwnReservations<T>(index: FleetIndex, own: readonly Reservation[], work: () => T): T {
  for (const one of own) liftReservation(index, one);
  try {
    return work();
  } finally {
    for (const one of own) layReservation(index, one);
  }
}

import type { Booked } from '../placement/node.ts';
import type { PlacementRequest } from '../placement/request.ts';

/** A request that waits for devices. */
export interface Waiting {
  /** Owns the bookings of the request in the index. */
  readonly id: string;
  readonly tenant: string;
  /** Higher goes first. */
  readonly priority: number;
  /** When it was made. All times are in milliseconds since 1970. */
  readonly since: number;
  readonly request: PlacementRequest;
}

/** Oldest first. */
export function compareAge(one: Waiting, other: Waiting): number {
  return one.since - other.since || (one.id < other.id ? -1 : 1);
}

/** An amount of what the fleet has. */
export interface Usage {
  readonly gpus: number;
  readonly cpu: number;
  readonly memory: number;
}

export const noUsage: Usage = { gpus: 0, cpu: 0, memory: 0 };

export function addUsage(one: Usage, parts: readonly Booked[]): Usage {
  let { gpus, cpu, memory } = one;
  for (const part of parts) {
    gpus += part.devices.length;
    cpu += part.cpu;
    memory += part.memory;
  }
  return { gpus, cpu, memory };
}

/** The largest share of anything that the tenant has, divided by its weight. */
export function weightedShare(usage: Usage, totals: Usage, weight: number): number {
  const shareOf = (what: keyof Usage): number => (totals[what] > 0 ? usage[what] / totals[what] : 0);
  return Math.max(shareOf('gpus'), shareOf('cpu'), shareOf('memory')) / weight;
}

import type { AllocationReference, BookedPart, BookingEntry, NodeBookingSpec } from '@capstan/api';
import { type EntryState, isInPlatformHands } from './transitions.ts';

/** One try to place an allocation, as far as the bookings tell. */
export interface Attempt {
  readonly allocation: AllocationReference;
  readonly name: string;
  /** The nodes that it wants. The first of a gang decides for all: it is written first, granted first and abandoned first. */
  readonly parts: readonly BookedPart[];
  readonly exclusive: boolean;
  /** Its entries by node. */
  readonly entries: ReadonlyMap<string, BookingEntry>;
}

export function stateOn({ entries }: Attempt, node: string): EntryState {
  return entries.get(node)?.state ?? 'Free';
}

/** Whether its allocation still has something, or may get it. Otherwise only the cleaning of nodes is left. */
export function isAlive({ entries }: Attempt): boolean {
  return entries.values().some(({ state }) => !isInPlatformHands(state));
}

/**
 * Finds all attempts. Stock is none: it belongs to no allocation. The bookings must be those of one moment, such as an informer has them: an entry without the first one of its gang is
 * taken for an orphan, which is wrong if the first one was read before it was written.
 */
export function attemptsIn(bookings: Iterable<readonly [node: string, spec: NodeBookingSpec]>): Attempt[] {
  const found = new Map<string, Attempt & { readonly entries: Map<string, BookingEntry> }>();
  for (const [node, { entries }] of bookings) {
    for (const entry of entries) {
      if (entry.stock !== undefined) continue;
      const key = `${entry.allocation.uid}/${entry.attempt}`;
      let attempt = found.get(key);
      if (attempt === undefined) {
        const { allocation, attempt: name, devices, cpu, memory, gang = [{ node, devices, cpu, memory }], exclusive = false } = entry;
        found.set(key, (attempt = { allocation, name, parts: gang, exclusive, entries: new Map() }));
      }
      attempt.entries.set(node, entry);
    }
  }
  return [...found.values()];
}

/** The entry of the attempt for one of its nodes. */
export function entryFor({ allocation, name, parts, exclusive }: Omit<Attempt, 'entries'>, part: BookedPart): Omit<BookingEntry, 'state'> {
  const { devices, cpu, memory } = part;
  return {
    allocation,
    attempt: name,
    devices,
    cpu,
    memory,
    ...(exclusive && { exclusive }),
    ...(parts.length > 1 && { gang: parts }),
  };
}

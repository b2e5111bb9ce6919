import type { AllocationReference, BookingEntry, BookingState, NodeBookingSpec } from '@capstan/api';
import { type BookingEvent, type EntryState, transitions } from './transitions.ts';

/** The next content of a booking, to be written on the condition that the object has not changed since it was read. */
export type Change =
  | { readonly kind: 'write'; readonly spec: NodeBookingSpec }
  /** It is so already, as after a write whose answer got lost. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly message: string };

/** `Taken`, `Full`: place again. `WrongState`: somebody else went on with the attempt; read again. */
export type RefusalCode = 'Taken' | 'Full' | 'WrongState';

/** Names an entry. */
export interface EntryKey {
  readonly uid: BookingEntry['allocation']['uid'];
  readonly attempt: string;
}

export interface Capacity {
  readonly cpu: number;
  readonly memory: number;
}

export const emptyBooking: NodeBookingSpec = { entries: [] };

export function isEntry({ allocation, attempt }: BookingEntry, key: EntryKey): boolean {
  return allocation.uid === key.uid && attempt === key.attempt;
}

/** Adds an entry: `hold` for a part of a gang, `grant` for an allocation with one node. */
export function addEntry(
  spec: NodeBookingSpec,
  entry: Omit<BookingEntry, 'state'>,
  { event, capacity }: { readonly event: 'hold' | 'grant'; readonly capacity: Capacity },
): Change {
  const key = { uid: entry.allocation.uid, attempt: entry.attempt };
  if (spec.entries.some((one) => isEntry(one, key))) return { kind: 'unchanged' };
  const exclusive = spec.entries.find((one) => one.exclusive || entry.exclusive);
  if (exclusive !== undefined) return refused('Taken', 'one of the allocations on the node needs it for itself');
  const taken = new Set(spec.entries.flatMap(({ devices }) => devices));
  const device = entry.devices.find((uuid) => taken.has(uuid));
  if (device !== undefined) return refused('Taken', `${device} is booked already`);
  for (const what of ['cpu', 'memory'] as const) {
    const booked = spec.entries.reduce((sum, one) => sum + one[what], 0);
    if (booked + entry[what] > capacity[what])
      return refused('Full', `${entry[what]} ${what} is needed, but ${booked} of ${capacity[what]} is booked`);
  }
  const state = transitions.Free[event] as BookingState;
  return { kind: 'write', spec: { entries: [...spec.entries, { ...entry, state }] } };
}

/**
 * Gives a warm unit to an allocation. The devices stay granted and need no cleaning: nothing has run there. The entry keeps its attempt, which the allocation then names.
 */
export function handOver(spec: NodeBookingSpec, key: EntryKey, allocation: AllocationReference): Change {
  if (spec.entries.some((one) => isEntry(one, { uid: allocation.uid, attempt: key.attempt }))) return { kind: 'unchanged' };
  const found = spec.entries.find((one) => isEntry(one, key));
  if (found?.stock === undefined || found.state !== 'Granted') return refused('Taken', 'the warm unit was taken or given up');
  const { stock: _, ...rest } = found;
  return { kind: 'write', spec: { entries: spec.entries.map((one) => (one === found ? { ...rest, allocation } : one)) } };
}

/** Takes an entry through one transition; an entry that becomes free is removed. */
export function advanceEntry(spec: NodeBookingSpec, key: EntryKey, event: Exclude<BookingEvent, 'hold'>): Change {
  const entry = spec.entries.find((one) => isEntry(one, key));
  const state: EntryState = entry?.state ?? 'Free';
  const next = entry === undefined ? undefined : transitions[state][event];
  if (next === undefined) return refused('WrongState', `cannot ${event} what is ${state.toLowerCase()}`);
  const entries = spec.entries.flatMap((one) => {
    if (one !== entry) return [one];
    return next === 'Free' ? [] : [{ ...one, state: next }];
  });
  return { kind: 'write', spec: { entries } };
}

function refused(code: RefusalCode, message: string): Change {
  return { kind: 'refused', code, message };
}

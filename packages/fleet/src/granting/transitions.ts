import type { BookingState } from '@capstan/api';

/** The state of what an attempt wants on a node. Free means that the booking has no entry of it. */
export type EntryState = BookingState | 'Free';

export const bookingEvents = ['hold', 'grant', 'abandon', 'release', 'clean', 'finish'] as const;
export type BookingEvent = (typeof bookingEvents)[number];

/** Whether the owner has given it up: the allocation may be gone, and only the cleaning of the node goes on. */
export function isInPlatformHands(state: EntryState): boolean {
  return state === 'Releasing' || state === 'Cleaning';
}

/**
 * `abandon` is for entries that nothing has ever run under: their allocation does not name them. An entry that was in use goes through
 * `release` (the scheduler hands it to the platform), `clean` (a task of the node removes what is left) and `finish` (nothing is left) before it is free.
 */
export const transitions: Readonly<Record<EntryState, Readonly<Partial<Record<BookingEvent, EntryState>>>>> = {
  Free: { hold: 'Held', grant: 'Granted' },
  Held: { grant: 'Granted', abandon: 'Free' },
  Granted: { release: 'Releasing', abandon: 'Free' },
  Releasing: { clean: 'Cleaning' },
  Cleaning: { finish: 'Free' },
};

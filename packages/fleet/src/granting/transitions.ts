import type { BookingState } from '@capstan/api';

/** The state of what an attempt wants on a node. Free means that the booking has no entry of it. */
export type EntryState = BookingState | 'Free';

export const bookingEvents = ['hold', 'grant', 'abandon', 'release', 'clean', 'finish'] as const;
export type BookingEvent = (typeof bookingEvents)[number];

/**
 * `abandon` is for entries that nothing has ever run under: their allocation does not name them. An entry that was in use goes through
 * `release` (its owner is stopped) and `clean` (the node is checked) before it is free.
 */
export const transitions: Readonly<Record<EntryState, Readonly<Partial<Record<BookingEvent, EntryState>>>>> = {
  Free: { hold: 'Held', grant: 'Granted' },
  Held: { grant: 'Granted', abandon: 'Free' },
  Granted: { release: 'Releasing', abandon: 'Free' },
  Releasing: { clean: 'Cleaning' },
  Cleaning: { finish: 'Free' },
};

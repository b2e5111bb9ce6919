import type { BookingEntry, NodeBookingSpec, NodeTask } from '@capstan/api';
import { advanceEntry } from '../granting/content.ts';
import { isInPlatformHands } from '../granting/transitions.ts';
import { type Outcome, outcomeOf, taskName } from './task.ts';

/** An entry that is being cleaned, and how far that is. */
export interface Cleaned {
  readonly entry: BookingEntry;
  readonly outcome: Outcome;
}

/** Everything on a node that its former owners have given up. */
export function givenUp(spec: NodeBookingSpec, tasks: readonly NodeTask[]): Cleaned[] {
  const byName = new Map(tasks.map((task) => [task.metadata.name, task]));
  return spec.entries
    .filter(({ state }) => isInPlatformHands(state))
    .map((entry) => ({ entry, outcome: outcomeOf(byName.get(taskName(entry))) }));
}

/** The next content of the booking: entries whose task exists are being cleaned, and those that are clean are free. The same object if nothing changes. */
export function nextEntries(spec: NodeBookingSpec, cleaned: readonly Cleaned[]): NodeBookingSpec {
  let next = spec;
  for (const { entry, outcome } of cleaned) {
    const key = { uid: entry.allocation.uid, attempt: entry.attempt };
    if (outcome.kind !== 'missing' && entry.state === 'Releasing') next = written(next, key, 'clean');
    if (outcome.kind === 'clean') next = written(next, key, 'finish');
  }
  return next;
}

/** Frees everything that was given up, because the node does not exist any more. */
export function withoutGivenUp(spec: NodeBookingSpec): NodeBookingSpec {
  return { entries: spec.entries.filter(({ state }) => !isInPlatformHands(state)) };
}

function written(spec: NodeBookingSpec, key: Parameters<typeof advanceEntry>[1], event: 'clean' | 'finish'): NodeBookingSpec {
  const change = advanceEntry(spec, key, event);
  return change.kind === 'write' ? change.spec : spec;
}

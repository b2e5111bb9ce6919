import { type BookingEntry, finalNodeUnitPhases, type NodeBookingSpec, type NodeTask, type NodeUnit } from '@capstan/api';
import { advanceEntry } from '../granting/content.ts';
import { isInPlatformHands } from '../granting/transitions.ts';
import { type Outcome, outcomeOf, taskName } from './task.ts';

/** An entry that is being cleaned, and how far that is. */
export interface Cleaned {
  readonly entry: BookingEntry;
  readonly outcome: Outcome;
}

/** Everything on a node that its former owners have given up. `used` has the UIDs of allocations for which something may run there. */
export function givenUp(spec: NodeBookingSpec, tasks: readonly NodeTask[], used: ReadonlySet<string> = new Set()): Cleaned[] {
  const byName = new Map(tasks.map((task) => [task.metadata.name, task]));
  return spec.entries
    .filter(({ state }) => isInPlatformHands(state))
    .map((entry) => ({ entry, outcome: used.has(entry.allocation.uid) ? { kind: 'used' } : outcomeOf(byName.get(taskName(entry))) }));
}

/** The UIDs of allocations for which one of these units runs, or may still start. */
export function usedBy(nodeUnits: readonly NodeUnit[]): Set<string> {
  return new Set(nodeUnits.filter(({ status }) => !finalNodeUnitPhases.has(status?.phase ?? '')).map(({ spec }) => spec.allocation));
}

/** The next content of the booking: entries whose task exists are being cleaned, and those that are clean are free. The same object if nothing changes. */
export function nextEntries(spec: NodeBookingSpec, cleaned: readonly Cleaned[]): NodeBookingSpec {
  let next = spec;
  for (const { entry, outcome } of cleaned) {
    const key = { uid: entry.allocation.uid, attempt: entry.attempt };
    if (outcome.kind !== 'missing' && outcome.kind !== 'used' && entry.state === 'Releasing') next = written(next, key, 'clean');
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

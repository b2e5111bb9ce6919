import type { Allocation } from '@capstan/api';
import { type Attempt, addEntry, advanceEntry, entryFor, nextStep, type Step, verdictOn } from '@capstan/fleet';
import type { BookingChange } from './booking-writer.ts';
import type { FleetCopy } from './fleet-copy.ts';

/** The next step of an attempt: a write of a booking, the status of its allocation, or nothing now. */
export type Progress =
  | { readonly kind: 'booking'; readonly write: BookingChange }
  | { readonly kind: 'confirm' }
  | { readonly kind: 'nothing' };

export interface AdvanceOptions {
  readonly fleet: FleetCopy;
  /** Undefined if the server says that it does not exist. */
  readonly allocation: Allocation | undefined;
}

/** Decides the next write for an attempt that a scheduler, this one or another, has begun. */
export function advance(attempt: Attempt, { fleet, allocation }: AdvanceOptions): Progress {
  const verdict = verdictOn(attempt.name, allocation);
  const stepIf = (isBlocked: boolean): Step => nextStep(attempt, { verdict, isBlocked });
  let step = stepIf(false);
  if (step.kind === 'hold') {
    const { node } = step.part;
    const { spec = { entries: [] } } = fleet.bookings.get(node) ?? {};
    if (holding(attempt, step, fleet).change(spec).kind === 'refused') step = stepIf(true);
  }
  switch (step.kind) {
    case 'nothing':
    case 'confirm':
      return { kind: step.kind };
    case 'hold':
      return { kind: 'booking', write: holding(attempt, step, fleet) };
    case 'advance': {
      const { node, event } = step;
      const key = { uid: attempt.allocation.uid, attempt: attempt.name };
      return { kind: 'booking', write: { node, change: (spec) => advanceEntry(spec, key, event) } };
    }
  }
}

/** A node that was removed has no room for anything. */
function holding(attempt: Attempt, { part }: Extract<Step, { kind: 'hold' }>, fleet: FleetCopy): BookingChange {
  const capacity = fleet.node(part.node);
  return {
    node: part.node,
    change: (spec) =>
      capacity === undefined
        ? { kind: 'refused', code: 'Full', message: `the node ${part.node} was removed` }
        : addEntry(spec, entryFor(attempt, part), { event: 'hold', capacity }),
  };
}

import type { BookedPart } from '@capstan/api';
import { type Attempt, stateOn } from './attempt.ts';
import type { BookingEvent } from './transitions.ts';
import type { Verdict } from './verdict.ts';

/** The one write that brings an attempt further. Each is a compare-and-swap; afterwards, or after a conflict, everything is read again. */
export type Step =
  /** Add the entry of this part to the booking of its node. If this is refused, abandon the attempt. */
  | { readonly kind: 'hold'; readonly part: BookedPart }
  | { readonly kind: 'advance'; readonly node: string; readonly event: Exclude<BookingEvent, 'hold'> }
  /** Name the attempt in the status of its allocation, which must still be undecided. */
  | { readonly kind: 'confirm' }
  | { readonly kind: 'nothing' };

export interface Circumstances {
  readonly verdict: Verdict;
  /** A part could not be held, so the gang cannot be completed. */
  readonly isBlocked: boolean;
}

/**
 * Decides the next step from the bookings and the allocation alone, so that any scheduler can go on where another one died.
 *
 * The first part of a gang is the point of decision. Others are held only after it and are never removed as long as it is held; so when all
 * are held, granting the first one grants the gang, and removing the first one ends it. Two schedulers that disagree conflict on it.
 */
export function nextStep(attempt: Attempt, circumstances: Circumstances): Step {
  switch (circumstances.verdict) {
    case 'undecided':
      return complete(attempt, circumstances);
    case 'rejected':
      return abandon(attempt);
    case 'chosen':
      return nothing;
    case 'leaving':
    case 'gone':
      return leave(attempt);
  }
}

const nothing: Step = { kind: 'nothing' };

function complete(attempt: Attempt, circumstances: Circumstances): Step {
  const [first, ...others] = attempt.parts;
  const missing = others.find(({ node }) => stateOn(attempt, node) === 'Free');
  switch (stateOn(attempt, first!.node)) {
    case 'Held':
      if (circumstances.isBlocked) return advance(first!.node, 'abandon');
      return missing === undefined ? advance(first!.node, 'grant') : { kind: 'hold', part: missing };
    case 'Granted': {
      // Only by hand: the booking of a node was deleted.
      if (missing !== undefined) return abandon(attempt);
      const held = others.find(({ node }) => stateOn(attempt, node) === 'Held');
      return held === undefined ? { kind: 'confirm' } : advance(held.node, 'grant');
    }
    default:
      return abandon(attempt);
  }
}

/** Removes entries that nothing has run under, the first part first. */
function abandon(attempt: Attempt): Step {
  const part = attempt.parts.find(({ node }) => ['Held', 'Granted'].includes(stateOn(attempt, node)));
  return part === undefined ? nothing : advance(part.node, 'abandon');
}

/**
 * Gives up entries in order. If the allocation is gone, something may have run under those that were granted. They stay booked until their nodes are clean, which is not the
 * scheduler's business.
 */
function leave(attempt: Attempt): Step {
  for (const { node } of attempt.parts) {
    const state = stateOn(attempt, node);
    if (state === 'Held') return advance(node, 'abandon');
    if (state === 'Granted') return advance(node, 'release');
  }
  return nothing;
}

function advance(node: string, event: Exclude<BookingEvent, 'hold'>): Step {
  return { kind: 'advance', node, event };
}

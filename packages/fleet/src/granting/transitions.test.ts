import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bookingEvents, type EntryState, transitions } from './transitions.ts';

const states = Object.keys(transitions) as EntryState[];
const next = (state: EntryState, event: (typeof bookingEvents)[number]): EntryState => transitions[state][event] ?? state;

describe('the states of a booking entry', () => {
  it('can all be reached, and all lead back to free', () => {
    const reachable = (from: EntryState): Set<EntryState> => {
      const found = new Set<EntryState>([from]);
      for (const state of found) for (const event of bookingEvents) found.add(next(state, event));
      return found;
    };
    expect(reachable('Free')).toEqual(new Set(states));
    for (const state of states) expect(reachable(state)).toContain('Free');
  });

  it('lead from use to free only through cleaning', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bookingEvents), { maxLength: 20 }), (events) => {
        let state: EntryState = 'Free';
        let needsCleaning = false;
        for (const event of events) {
          const after = next(state, event);
          if (state === 'Granted' && after === 'Releasing') needsCleaning = true;
          if (after === 'Free' && needsCleaning) {
            expect(state).toBe('Cleaning');
            needsCleaning = false;
          }
          state = after;
        }
      }),
    );
  });
});

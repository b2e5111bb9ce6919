import { type Allocation, type AllocationStatus, asAllocationId, type BookingEntry, type BookingState } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { type Attempt, attemptsIn } from './attempt.ts';
import { nextStep } from './next-step.ts';
import { type Verdict, verdictOn } from './verdict.ts';

const parts = ['n1', 'n2', 'n3'].map((node) => ({ node, devices: [`${node}-0`], cpu: 0, memory: 0 }));

/** A gang of three nodes with entries in these states; `-` is none. */
function gang(...states: (BookingState | '-')[]): Attempt {
  const allocation = { cluster: 'c', namespace: 'default', name: 'a', uid: asAllocationId('a') };
  const bookings = states.map((state, at) => {
    const { node, ...part } = parts[at]!;
    const entries: BookingEntry[] = state === '-' ? [] : [{ allocation, attempt: 'try', state, ...part, gang: parts }];
    return [node, { entries }] as const;
  });
  return attemptsIn(bookings)[0]!;
}

const step = (attempt: Attempt, verdict: Verdict, rest = {}): object => nextStep(attempt, { isBlocked: false, verdict, ...rest });
const advance = (node: string, event: string): object => ({ kind: 'advance', node, event });

describe('a gang that is undecided', () => {
  it.each<{ states: (BookingState | '-')[]; next: object; why: string }>([
    { states: ['Held', '-', '-'], next: { kind: 'hold', part: parts[1] }, why: 'holds the nodes in order' },
    { states: ['Held', 'Held', '-'], next: { kind: 'hold', part: parts[2] }, why: 'holds the last node' },
    { states: ['Held', 'Held', 'Held'], next: advance('n1', 'grant'), why: 'is decided at the first node' },
    { states: ['Granted', 'Held', 'Held'], next: advance('n2', 'grant'), why: 'follows the first node' },
    { states: ['Granted', 'Granted', 'Granted'], next: { kind: 'confirm' }, why: 'is confirmed when it is complete' },
    { states: ['-', 'Held', 'Held'], next: advance('n2', 'abandon'), why: 'is abandoned without its first node' },
    { states: ['Granted', 'Granted', '-'], next: advance('n1', 'abandon'), why: 'is abandoned if a booking was deleted by hand' },
  ])('$why: $states', ({ states, next }) => {
    expect(step(gang(...states), 'undecided')).toEqual(next);
  });

  it('gives up at the first node if a part is taken', () => {
    expect(step(gang('Held', 'Held', '-'), 'undecided', { isBlocked: true })).toEqual(advance('n1', 'abandon'));
  });
});

describe('an attempt that does not count', () => {
  it('is abandoned, granted or not', () => {
    expect(step(gang('Granted', 'Held', 'Held'), 'rejected')).toEqual(advance('n1', 'abandon'));
    expect(step(gang('-', '-', 'Granted'), 'rejected')).toEqual(advance('n3', 'abandon'));
  });

  it('is released and cleaned if its allocation is gone, because something may have run', () => {
    expect(step(gang('Granted', 'Granted', 'Granted'), 'gone')).toEqual(advance('n1', 'release'));
    expect(step(gang('Held', '-', '-'), 'gone')).toEqual(advance('n1', 'abandon'));
  });
});

describe('an allocation that is deleted', () => {
  it('is handed to the platform, each node for itself, and is left alone then', () => {
    expect(step(gang('Releasing', 'Granted', 'Granted'), 'leaving')).toEqual(advance('n2', 'release'));
    expect(step(gang('Cleaning', '-', 'Granted'), 'leaving')).toEqual(advance('n3', 'release'));
    expect(step(gang('Releasing', '-', 'Cleaning'), 'leaving')).toEqual({ kind: 'nothing' });
    expect(step(gang('Releasing', '-', 'Cleaning'), 'gone')).toEqual({ kind: 'nothing' });
  });

  it('keeps its devices until then', () => {
    expect(step(gang('Granted', 'Granted', 'Granted'), 'chosen')).toEqual({ kind: 'nothing' });
  });
});

describe('the verdict on an attempt', () => {
  const allocation = (status: AllocationStatus | undefined, isDeleted = false): Allocation => ({
    apiVersion: 'compute.capstan.dev/v1alpha1',
    kind: 'Allocation',
    metadata: isDeleted ? { deletionTimestamp: '2031-05-06T07:08:09Z' } : {},
    spec: { offering: 'o', nodes: 1, priority: 0 },
    ...(status && { status }),
  });

  it.each<{ object: Allocation | undefined; verdict: Verdict }>([
    { object: undefined, verdict: 'gone' },
    { object: allocation(undefined), verdict: 'undecided' },
    { object: allocation({ phase: 'Pending' }), verdict: 'undecided' },
    { object: allocation({ phase: 'Failed' }), verdict: 'rejected' },
    { object: allocation(undefined, true), verdict: 'rejected' },
    { object: allocation({ attempt: 'other' }), verdict: 'rejected' },
    { object: allocation({ attempt: 'try' }), verdict: 'chosen' },
    { object: allocation({ attempt: 'try' }, true), verdict: 'leaving' },
    { object: allocation({ attempt: 'try', phase: 'Releasing' }), verdict: 'leaving' },
  ])('is $verdict', ({ object, verdict }) => {
    expect(verdictOn('try', object)).toBe(verdict);
  });
});

import type { NodeIdentityStatus } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { enroll, renew, type Transition } from './transitions.ts';

const now = new Date('2031-05-06T07:08:09.123Z');
const expires = new Date('2031-05-07T07:08:09.123Z');
const times = { now, expires };
const identity: NodeIdentityStatus = {
  generation: 4,
  currentKey: 'k4',
  previousKey: 'k3',
  enrollment: 'e1',
  renewedAt: '2031-05-05T00:00:00Z',
  expiresAt: '2031-05-06T00:00:00Z',
};
const locked = { ...identity, locked: { reason: 'because', at: '2031-05-05T00:00:00Z' } };
const summary = (result: Transition) => (result.kind === 'refuse' ? result.refusal : result.kind);

describe('enrolment', () => {
  test.each([
    ['a node without identity', undefined, { enrollment: 'e1', key: 'k1' }, 'issue'],
    ['the same enrolment with its key again', identity, { enrollment: 'e1', key: 'k4' }, 'issue'],
    ['the same enrolment after a renewal', identity, { enrollment: 'e1', key: 'k1' }, 'KeyReplaced'],
    ['the same enrolment of a locked node', locked, { enrollment: 'e1', key: 'k4' }, 'NodeLocked'],
    ['another enrolment', identity, { enrollment: 'e2', key: 'k9' }, 'issue'],
    ['another enrolment of a locked node', locked, { enrollment: 'e2', key: 'k9' }, 'issue'],
  ] as const)('of %s', (_, before, request, expected) => {
    expect(summary(enroll(before, request, times))).toBe(expected);
  });

  test('replaces all keys and the lock', () => {
    expect(enroll(locked, { enrollment: 'e2', key: 'k9' }, times)).toEqual({
      kind: 'issue',
      identity: {
        generation: 5,
        currentKey: 'k9',
        enrollment: 'e2',
        renewedAt: '2031-05-06T07:08:09Z',
        expiresAt: '2031-05-07T07:08:09Z',
      },
    });
  });
});

describe('renewal', () => {
  test.each([
    ['with the current key', identity, { presentKey: 'k4', key: 'k5' }, 'issue'],
    ['of a later generation, after a restore', identity, { presentKey: 'k6', presentGeneration: 6, key: 'k7' }, 'issue'],
    ['of another key of the same generation, after a restore', identity, { presentKey: 'x4', presentGeneration: 4, key: 'k7' }, 'lock'],
    ['of another key of an earlier generation', identity, { presentKey: 'x3', presentGeneration: 3, key: 'k7' }, 'KeyReplaced'],
    ['of a later generation of a locked node', locked, { presentKey: 'k6', presentGeneration: 6, key: 'k7' }, 'NodeLocked'],
    ['again, with the key before, for the current key', identity, { presentKey: 'k3', key: 'k4' }, 'issue'],
    ['with the key before, for another key', identity, { presentKey: 'k3', key: 'k5' }, 'lock'],
    ['with an older key', identity, { presentKey: 'k2', key: 'k5' }, 'KeyReplaced'],
    ['for the same key', identity, { presentKey: 'k4', key: 'k4' }, 'InvalidRequest'],
    ['for the key before', identity, { presentKey: 'k4', key: 'k3' }, 'InvalidRequest'],
    ['of a locked node', locked, { presentKey: 'k4', key: 'k5' }, 'NodeLocked'],
    ['of a node that was never enrolled', undefined, { presentKey: 'k4', key: 'k5' }, 'KeyReplaced'],
  ] as const)('%s', (_, before, request, expected) => {
    expect(summary(renew(before, { presentGeneration: 0, ...request }, times))).toBe(expected);
  });

  test('goes on from the generation of the certificate after a restore', () => {
    expect(renew(identity, { presentKey: 'k6', presentGeneration: 6, key: 'k7' }, times)).toMatchObject({
      identity: { generation: 7, currentKey: 'k7', previousKey: 'k6', enrollment: 'e1' },
    });
  });

  test('keeps the key before, and counts', () => {
    expect(renew(identity, { presentKey: 'k4', presentGeneration: 4, key: 'k5' }, times)).toMatchObject({
      identity: { generation: 5, currentKey: 'k5', previousKey: 'k4', enrollment: 'e1' },
    });
  });
});

/** A machine and the keys that it has. It repeats a request until it gets an answer, as agents do. */
interface Machine {
  key: string;
  generation: number;
  next: string | undefined;
}

test('one machine is never locked however many answers are lost, and of two machines with one identity only one can renew', () => {
  const steps = fc.array(fc.record({ machine: fc.nat({ max: 1 }), isLost: fc.boolean() }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, fc.boolean(), (sequence, isCloned) => {
      let state: NodeIdentityStatus | undefined = { ...identity, currentKey: 'first' };
      delete (state as { previousKey?: string }).previousKey;
      const machines: Machine[] = [0, 1].map(() => ({ key: 'first', generation: identity.generation, next: undefined }));
      const renewals = [0, 0];
      let made = 0;
      for (const { machine: chosen, isLost } of sequence) {
        const index = isCloned ? chosen : 0;
        const machine = machines[index]!;
        machine.next ??= `key${made++}`;
        const result = renew(state, { presentKey: machine.key, presentGeneration: machine.generation, key: machine.next }, times);
        if (result.kind === 'refuse') continue;
        state = result.identity;
        if (result.kind === 'lock' || isLost) continue;
        machine.key = machine.next;
        machine.generation = result.identity.generation;
        machine.next = undefined;
        renewals[index]!++;
      }
      if (!isCloned) expect(state.locked).toBeUndefined();
      // Whatever happens, at most one of two machines can go on.
      expect(Math.min(...renewals)).toBe(0);
    }),
  );
});

test('a machine goes on after any restore, however many answers are lost', () => {
  const steps = fc.array(fc.record({ isLost: fc.boolean(), isRestored: fc.boolean() }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (sequence) => {
      const first: NodeIdentityStatus = { ...identity, currentKey: 'first' };
      let state = first;
      const machine: Machine = { key: 'first', generation: identity.generation, next: undefined };
      let made = 0;
      for (const { isLost, isRestored } of sequence) {
        if (isRestored) state = first;
        machine.next ??= `key${made++}`;
        const result = renew(state, { presentKey: machine.key, presentGeneration: machine.generation, key: machine.next }, times);
        if (result.kind !== 'issue') return expect.fail(`the only machine was ${summary(result)}`);
        state = result.identity;
        if (isLost) continue;
        machine.key = machine.next;
        machine.generation = result.identity.generation;
        machine.next = undefined;
      }
    }),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sameJson, sameJsonInParts } from '../meta/same-json.ts';
import { limitStepsInParts, type Parts, sortInParts, whole } from './parts.ts';
import { countSteps, OutOfSteps, spend } from './steps.ts';

describe('sorting in parts', () => {
  test('sorts like Array.sort, and keeps the order of equal items', () => {
    const items = fc.array(fc.record({ key: fc.nat(50), id: fc.nat() }), { minLength: 3_000, maxLength: 6_000 });
    const byKey = (left: { key: number }, right: { key: number }): number => left.key - right.key;
    fc.assert(
      fc.property(items, (list) => {
        expect(whole(sortInParts([...list], byKey))).toEqual(list.toSorted(byKey));
      }),
      { numRuns: 3 },
    );
  });

  test('yields while it sorts a long list', () => {
    let parts = 0;
    const list = Array.from({ length: 20_000 }, (_, index) => (index * 7919) % 20_000);
    for (const _ of sortInParts(list, (left, right) => left - right)) parts++;
    expect(parts).toBeGreaterThan(300);
    expect(list[0]).toBe(0);
  });
});

test('values are compared in parts with the same result', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const copy = structuredClone(one);
      for (const [left, right] of [
        [one, other],
        [one, copy],
        [
          [one, other],
          [copy, other],
        ],
        [
          { one, other },
          { other, one: copy },
        ],
      ])
        expect(whole(sameJsonInParts(left, right))).toBe(sameJson(left, right));
    }),
  );
});

test('parts have a common limit of steps, to which the work between them does not add', () => {
  const work = function* (steps: readonly number[]): Parts<string> {
    for (const count of steps) {
      spend(count);
      yield;
    }
    return 'done';
  };
  const parts = limitStepsInParts(100, work([40, 40]));
  const { steps } = countSteps(() => void parts.next());
  spend(1_000);
  expect([steps, whole(parts)]).toEqual([40, 'done']);
  expect(() => whole(limitStepsInParts(100, work([40, 40, 40])))).toThrow(OutOfSteps);
});

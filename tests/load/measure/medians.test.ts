import { expect, test } from 'vitest';
import type { Measurement } from '../profiles/profile.ts';
import { medians } from './medians.ts';

function round(creates: number, errors: number): Measurement[] {
  return [
    { what: 'creates', value: creates, unit: 'per second', better: 'higher' },
    { what: 'errors', value: errors, unit: 'count', better: 'lower' },
  ];
}

test('takes the median of each row', () => {
  expect(medians([round(900, 0), round(1100, 2), round(1000, 1)]).map(({ value }) => value)).toEqual([1000, 1]);
});

test('keeps the numbers of a single round', () => {
  expect(medians([round(7, 3)])).toEqual(round(7, 3));
});

test('takes the median of the rounds that have the row', () => {
  const [creates, errors] = round(900, 5) as [Measurement, Measurement];
  expect(medians([[errors], [creates, { ...errors, value: 3 }], [creates]])).toEqual([{ ...errors, value: 5 }]);
});

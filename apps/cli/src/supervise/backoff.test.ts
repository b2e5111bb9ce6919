import { expect, test } from 'vitest';
import { Backoff } from './backoff.ts';

const options = { first: 100, longest: 1000, healthyAfter: 30_000 };

test('doubles the wait up to the longest', () => {
  const backoff = new Backoff(options);
  expect([0, 0, 0, 0, 0, 0].map((lived) => backoff.after(lived))).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test('starts over after a process that lived long enough', () => {
  const backoff = new Backoff(options);
  backoff.after(0);
  backoff.after(0);
  expect(backoff.after(30_000)).toBe(100);
  expect(backoff.after(0)).toBe(200);
});

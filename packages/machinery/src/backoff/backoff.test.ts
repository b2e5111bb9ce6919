import { describe, expect, test } from 'vitest';
import { Backoff, backoffAfter } from './backoff.ts';

const limits = { base: 100, max: 1000 };

describe('Backoff', () => {
  test('doubles the wait up to the limit', () => {
    const backoff = new Backoff(limits);
    expect([1, 2, 3, 4, 5, 6].map(() => backoff.next())).toEqual([100, 200, 400, 800, 1000, 1000]);
  });

  test('starts again with the first wait after a reset', () => {
    const backoff = new Backoff(limits);
    backoff.next();
    backoff.next();
    backoff.reset();
    expect([backoff.next(), backoff.next()]).toEqual([100, 200]);
  });

  test('shortens each wait by up to half when it is given randomness', () => {
    expect(new Backoff({ ...limits, random: () => 0 }).next()).toBe(50);
    expect(new Backoff({ ...limits, random: () => 0.999999 }).next()).toBeCloseTo(100, 3);
  });
});

test('backoffAfter stays at the limit however often something failed', () => {
  expect([0, 1, 4, 1e6].map((failures) => backoffAfter(failures, limits))).toEqual([100, 200, 1000, 1000]);
});

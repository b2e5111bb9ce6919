import { expect, test } from 'vitest';
import { Latencies } from './latencies.ts';

test('returns a measured time for each quantile', () => {
  const latencies = new Latencies(1);
  for (let value = 100; value >= 1; value--) latencies.add(value);
  expect([0.01, 0.5, 0.99, 1].map((share) => latencies.quantile(share))).toEqual([1, 50, 99, 100]);
});

test('has no quantile without a measurement', () => {
  expect(new Latencies(10).quantile(0.5)).toBeNaN();
});

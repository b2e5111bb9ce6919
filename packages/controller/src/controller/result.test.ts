import { expect, test } from 'vitest';
import { waitByAge } from './result.ts';

test.each([
  ['the shortest wait for something new', '2026-01-01T00:00:10Z', 100],
  ['a fifth of the age', '2026-01-01T00:00:00Z', 2_000],
  ['the longest wait for something old', '2025-01-01T00:00:00Z', 5_000],
  ['the shortest wait if the time is unknown', undefined, 100],
  ['the shortest wait if the time is in the future', '2026-01-01T00:01:00Z', 100],
])('waitByAge returns %s', (_what, since, wait) => {
  expect(waitByAge(since, { now: new Date('2026-01-01T00:00:10Z'), min: 100, max: 5_000 })).toBe(wait);
});

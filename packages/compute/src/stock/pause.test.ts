import { expect, test } from 'vitest';
import { pauseLeft } from './pause.ts';

test.each([
  { name: 'just now', since: 1_000, now: 1_000, left: 500 },
  { name: 'a moment ago', since: 1_000, now: 1_400, left: 100 },
  { name: 'long enough ago', since: 1_000, now: 1_500, left: 0 },
  { name: 'never', since: Number.NEGATIVE_INFINITY, now: 0, left: 0 },
  { name: 'in the future, because the clock was set back', since: 1_000, now: 900, left: 0 },
])('of something that happened $name', ({ since, now, left }) => {
  expect(pauseLeft(500, { since, now })).toBe(left);
});

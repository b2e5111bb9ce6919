import { expect, test } from 'vitest';
import { rangeOf } from './range-query.ts';

const now = Date.parse('2026-01-02T12:00:00Z');
const parse = (query: string): ReturnType<typeof rangeOf> => rangeOf(new URLSearchParams(query), now);

test('reads times as RFC 3339 or seconds, and steps as durations or seconds', () => {
  const [from, to] = [Date.parse('2026-01-02T10:00:00Z'), Date.parse('2026-01-02T11:00:00Z')];
  expect(parse('from=2026-01-02T10:00:00Z&to=2026-01-02T11:00:00Z&step=5m')).toEqual({ from, to, step: 300_000 });
  expect(parse(`from=${from / 1000}&to=${to / 1000}&step=30`)).toEqual({ from, to, step: 30_000 });
});

test('takes the last hour in 240 steps, and nothing without a parameter', () => {
  expect(parse('')).toBeUndefined();
  expect(parse('to=2026-01-02T12:00:00Z')).toEqual({ from: now - 3_600_000, to: now, step: 15_000 });
  expect(parse('from=2026-01-02T11:59:59.5Z')).toEqual({ from: now - 500, to: now, step: 1_000 });
});

test.each([
  ['from=yesterday', 'from: expected a time'],
  ['from=2026-02-30T00:00:00Z', 'from: expected a time'],
  ['to=1e400', 'to: expected a time'],
  ['from=2026-01-03T00:00:00Z', 'from: expected a time before'],
  ['step=0', 'step: expected a duration'],
  ['step=-5s', 'step: expected a duration'],
  ['step=', 'step: expected a duration'],
  ['from=0&step=1s', 'step: expected at most 11000 steps'],
])('refuses %s', (query, message) => {
  expect(parse(query)).toMatch(message);
});

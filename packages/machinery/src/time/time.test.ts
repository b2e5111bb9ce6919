import { describe, expect, it } from 'vitest';
import { age, humanDuration } from './duration.ts';
import { formatMicroTime, formatTime, parseTime } from './time.ts';

describe('times', () => {
  const date = new Date('2026-02-03T04:05:06.789Z');

  it('are printed in UTC', () => {
    expect(formatTime(date)).toBe('2026-02-03T04:05:06Z');
    expect(formatMicroTime(date)).toBe('2026-02-03T04:05:06.789000Z');
  });

  it.each([
    ['2026-02-03T04:05:06Z', '2026-02-03T04:05:06Z'],
    ['2026-02-03T04:05:06.1234567+02:00', '2026-02-03T02:05:06Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
  ])('%s is %s in UTC', (text, time) => {
    expect(formatTime(parseTime(text)!)).toBe(time);
  });

  it.each([
    '',
    'yesterday',
    '2026-02-03',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01 00:00:00Z',
    '2025-02-29T00:00:00Z',
  ])('%j is not a time', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });
});

describe('durations', () => {
  const minute = 60;
  const hour = 60 * minute;
  const day = 24 * hour;

  it.each([
    [-5, '<invalid>'],
    [-1, '0s'],
    [0, '0s'],
    [119, '119s'],
    [2 * minute, '2m'],
    [5 * minute + 3, '5m3s'],
    [10 * minute + 3, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [3 * day + 4 * hour, '3d4h'],
    [8 * day + 4 * hour, '8d'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [760 * day, '2y30d'],
    [8 * 365 * day + day, '8y'],
  ])('%i seconds are %s', (seconds, expected) => {
    expect(humanDuration(seconds * 1000)).toBe(expected);
  });

  it('an age is measured from a time, if there is one', () => {
    const now = new Date('2026-01-01T00:10:00Z');
    expect(age('2026-01-01T00:00:00Z', now)).toBe('10m');
    expect(age(null, now)).toBe('<unknown>');
  });
});

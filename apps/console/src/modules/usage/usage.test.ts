import { expect, test } from 'vitest';
import { daysOf, hours, monthStart } from './usage.ts';

test('days without use are zero', () => {
  const amounts = { coreSeconds: 3600, memoryGibSeconds: 0, storageGibSeconds: 0, allocations: 1 };
  const report = {
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-03T12:00:00Z',
    items: [{ key: '2026-01-02', gpuSeconds: 7200, ...amounts }],
  };
  const { times, hours: used } = daysOf(report, 'gpuSeconds');
  expect(used).toEqual([0, 2, 0]);
  expect(daysOf(report, 'coreSeconds').hours).toEqual([0, 1, 0]);
  expect(times[1]! - times[0]!).toBe(86_400);
});

test('hours have two digits', () => expect(hours(5_400_000)).toBe('1,500.00'));

test('a month begins with its first day', () => expect(monthStart(new Date('2026-11-16T09:00:00Z'))).toBe('2026-11-01'));

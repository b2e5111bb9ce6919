import { expect, test } from 'vitest';
import { comparisonTable } from './table.ts';

test('shows numbers side by side with their ratio', () => {
  const column = (name: string, rate: number, errors: number) => ({
    name,
    measurements: [
      { what: 'creates', value: rate, unit: 'per second', better: 'higher' } as const,
      { what: 'errors', value: errors, unit: 'count', better: 'lower' } as const,
    ],
  });
  expect(comparisonTable([column('a', 1000, 0), column('b', 2500.4, 1)])).toBe(
    [
      '|         |       a |       b | b / a |',
      '| ------- | ------: | ------: | ----: |',
      '| creates | 1,000/s | 2,500/s | 2.50× |',
      '| errors  |       0 |       1 |       |',
    ].join('\n'),
  );
});

import { expect, test } from 'vitest';
import { formatAddress, freeRange, parseRange } from './ranges.ts';

test('addresses and ranges', () => {
  expect(parseRange('10.213.70.5/20')).toEqual({ base: parseRange('10.213.64.0').base, prefix: 20 });
  expect(formatAddress(parseRange('203.0.113.10').base)).toBe('203.0.113.10');
});

test.each([
  ['nothing but a default route', ['default'], '10.213.64.0'],
  ['a larger network', ['10.0.0.0/8'], '172.29.208.0'],
  ['a single address', ['10.213.65.1', '10.87.160.7'], '172.29.208.0'],
])('the range of units avoids %s', (_what, routes, expected) => {
  expect(formatAddress(freeRange(routes)!.base)).toBe(expected);
});

test('there may be no range left', () => {
  expect(freeRange(['0.0.0.0/1', '128.0.0.0/1'])).toBeUndefined();
});

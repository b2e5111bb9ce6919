import { expect, test } from 'vitest';
import { parseUsage } from './processor.ts';

test('the name of a program may have brackets and spaces', () => {
  const stat = '42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 100 1 1';
  expect(parseUsage(stat)).toEqual({ parent: 7, seconds: 2 });
});

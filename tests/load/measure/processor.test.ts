import { expect, test } from 'vitest';
import { parentOf, processorSeconds } from './processor.ts';

test('accepts brackets and spaces in the name of a program', () => {
  expect(parentOf('42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 100 1 1')).toBe(7);
});

test.runIf(process.platform === 'linux')('measures the time of work', () => {
  const before = processorSeconds([process.pid]);
  for (let sum = 0; sum < 5e6; sum += Math.random());
  expect(processorSeconds([process.pid])).toBeGreaterThan(before);
  expect(processorSeconds([])).toBe(0);
});

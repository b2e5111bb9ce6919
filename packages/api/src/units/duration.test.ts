import { expect, test } from 'vitest';
import { millisecondsIn } from './duration.ts';

test.each([
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['250ms', 250],
  ['0.5h', 1_800_000],
  ['0s', 0],
])('%s has %d milliseconds', (text, milliseconds) => expect(millisecondsIn(text)).toBe(milliseconds));

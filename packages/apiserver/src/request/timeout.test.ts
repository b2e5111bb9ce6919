import { describe, expect, test } from 'vitest';
import { checkTimeout } from './timeout.ts';

describe('a timeout in the URL', () => {
  test.each(['', '0', '0s', '5s', '-1s', '+1.5h', '1h30m', '.5s', '100h', '3µs'])('may be %j', (text) => {
    expect(() => checkTimeout(text)).not.toThrow();
  });

  test.each([
    ['invalid', 'invalid duration "invalid"'],
    ['5', 'missing unit in duration "5"'],
    ['5x', 'unknown unit "x" in duration "5x"'],
    ['1h5', 'missing unit in duration "1h5"'],
    ['-', 'invalid duration "-"'],
    ['.', 'invalid duration "."'],
    ['1s ', 'unknown unit "s " in duration "1s "'],
  ])('is refused when it is %j', (text, why) => {
    expect(() => checkTimeout(text)).toThrow(`invalid timeout specified in the request URL - time: ${why}`);
  });
});

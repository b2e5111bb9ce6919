import { describe, expect, test } from 'vitest';
import { ignoring } from './ignoring.ts';

const isRange = (error: unknown): boolean => error instanceof RangeError;
const isSyntax = (error: unknown): boolean => error instanceof SyntaxError;

describe('ignoring', () => {
  test('returns the result', async () => {
    expect(await ignoring(Promise.resolve(1), isRange)).toBe(1);
  });

  test('returns undefined for an error that one of the checks accepts', async () => {
    expect(await ignoring(Promise.reject(new SyntaxError()), isRange, isSyntax)).toBeUndefined();
  });

  test('throws any other error', async () => {
    await expect(ignoring(Promise.reject(new TypeError('wrong')), isRange, isSyntax)).rejects.toThrow('wrong');
  });
});

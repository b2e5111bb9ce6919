import { describe, expect, test } from 'vitest';
import { hasMoreValues } from './values.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('hasMoreValues', () => {
  test('counts fields and items', () => {
    const list = bytes(`[${'0,'.repeat(99)}0]`);
    expect(hasMoreValues(list, 100)).toBe(false);
    expect(hasMoreValues(list, 98)).toBe(true);
    const fields = bytes(JSON.stringify(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key-${index}`, {}]))));
    expect(hasMoreValues(fields, 200)).toBe(false);
    expect(hasMoreValues(fields, 199)).toBe(true);
  });

  test('does not count within strings', () => {
    const text = ',[{\\"'.repeat(1_000);
    expect(hasMoreValues(bytes(JSON.stringify({ text, other: `${text}\\` })), 2)).toBe(false);
  });

  test('reads to the end of a string that does not end', () => {
    expect(hasMoreValues(bytes(`[1,2,"${','.repeat(1_000)}`), 3)).toBe(false);
  });
});

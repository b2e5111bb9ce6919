import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys, prefixRange, rangeTest } from './keys.ts';

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('/', 'a', '~', '\ud7ff', '\ue000', '\ufffd', '\uffff', '\u{10000}', '\u{1f680}', '\u{10ffff}'),
    fc.constant('é'),
  ),
  maxLength: 6,
});
const bytes = (a: string, b: string): number => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe('keys', () => {
  it('are ordered by the bytes of their UTF-8', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(bytes(a, b));
      }),
      { numRuns: 2000 },
    );
  });

  it('are in a range when their bytes are', () => {
    fc.assert(
      fc.property(text, text, text, (start, end, key) => {
        expect(rangeTest({ start, end })(key)).toBe(bytes(key, start) >= 0 && bytes(key, end) < 0);
      }),
      { numRuns: 2000 },
    );
  });

  it('are in the range of a prefix if and only if they begin with it', () => {
    fc.assert(
      fc.property(text, text, (prefix, key) => {
        fc.pre(prefix !== '' && !/^\u{10ffff}*$/u.test(prefix));
        expect(rangeTest(prefixRange(prefix))(key)).toBe(key.startsWith(prefix));
        expect(rangeTest(prefixRange(prefix))(prefix + key)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('are all in the range of the empty prefix', () => {
    expect(rangeTest(prefixRange(''))('')).toBe(true);
    expect(rangeTest(prefixRange(''))('/registry/\u{1f680}')).toBe(true);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { whole } from '../work/parts.ts';
import { parseExact } from './exact.ts';
import { parseInParts, stringifyInParts } from './json-parts.ts';

/** Texts that are long enough to be cut. */
const filler = Array.from({ length: 700 }, (_, index) => `item ${index} with "quotes", [brackets] and \\ in ${'x'.repeat(200)}`);
const long = (value: Json): Json => ({ before: filler, value, wide: Object.fromEntries(filler.map((text, at) => [`k${at}`, { text }])) });

const read = (text: string): Json => {
  try {
    return whole(parseInParts(text));
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return 'invalid';
  }
};
const natively = (text: string): Json => {
  try {
    return parseExact(text);
  } catch {
    return 'invalid';
  }
};

describe('parsing in parts', () => {
  test('gives the same values as parsing at once', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1), (value, indent) => {
        const text = JSON.stringify(long(value as Json), undefined, indent);
        expect(read(text)).toEqual(natively(text));
      }),
      { numRuns: 6 },
    );
  });

  test('rejects the same texts', () => {
    const text = JSON.stringify(long({ a: [1, 2, { b: null }] }));
    const change = fc.record({
      at: fc.nat(text.length - 1),
      length: fc.nat(2),
      by: fc.constantFrom('', ',', ']', '}', '"', ':', ' ', '1', '{'),
    });
    fc.assert(
      fc.property(change, ({ at, length, by }) => {
        const changed = text.slice(0, at) + by + text.slice(at + length);
        expect(read(changed)).toEqual(natively(changed));
      }),
      { numRuns: 25 },
    );
    const spaces = ' '.repeat(20_000);
    const list = JSON.stringify(filler).slice(1, -1);
    for (const members of [`${list},`, `,${list}`, `${spaces},${list}`, `${list},${spaces}`, `${list},,1`, list.slice(0, -1), `${list}]`])
      expect(read(`[${members}]`)).toEqual(natively(`[${members}]`));
    expect(read(`{"a":[${list}},"b":1]`)).toBe('invalid');
    expect(read(`[${list}] x`)).toBe('invalid');
    expect(read(`[${list}]${spaces}`)).toEqual(filler);
  });

  test('keeps large integers, the last of duplicate keys, and a key named __proto__', () => {
    const wide = JSON.stringify(filler);
    const text = `{"n":9007199254740993,"a":1,"__proto__":{"x":${wide}},"a":2,"f":${wide}}`;
    expect(read(text)).toEqual(natively(text));
    expect(Object.keys(read(text) as object)).toEqual(Object.keys(natively(text) as object));
  });

  test('yields between pieces, however the members are nested', () => {
    const nested = Array.from({ length: 50 }).reduce<Json>((inner) => ({ inner }), long('x'));
    for (const value of [long('x'), nested]) {
      let parts = 0;
      for (const _ of parseInParts(JSON.stringify(value))) parts++;
      expect(parts).toBeGreaterThan(15);
    }
  });
});

describe('writing in parts', () => {
  test('gives the same text as JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(whole(stringifyInParts(value as Json))).toBe(JSON.stringify(value));
      }),
      { numRuns: 200 },
    );
    const odd = { missing: undefined, list: [undefined, 1], large: 9007199254740993n, empty: {}, none: [] } as unknown as Json;
    expect(whole(stringifyInParts(odd))).toBe(JSON.stringify(odd));
  });

  test('yields between pieces', () => {
    let parts = 0;
    for (const _ of stringifyInParts(Array.from({ length: 10_000 }, (_, index) => ({ index })))) parts++;
    expect(parts).toBeGreaterThan(10);
  });
});

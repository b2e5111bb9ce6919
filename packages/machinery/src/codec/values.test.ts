import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Parts, whole } from '../work/parts.ts';
import { hasMoreValues, hasWideObject } from './values.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('hasMoreValues', () => {
  test('counts fields and items', () => {
    const list = bytes(`[${'0,'.repeat(99)}0]`);
    expect(whole(hasMoreValues(list, 100))).toBe(false);
    expect(whole(hasMoreValues(list, 98))).toBe(true);
    const fields = bytes(JSON.stringify(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key-${index}`, {}]))));
    expect(whole(hasMoreValues(fields, 200))).toBe(false);
    expect(whole(hasMoreValues(fields, 199))).toBe(true);
  });

  test('does not count within strings', () => {
    const text = ',[{\\"'.repeat(1_000);
    expect(whole(hasMoreValues(bytes(JSON.stringify({ text, other: `${text}\\` })), 2))).toBe(false);
  });

  test('finds the end of long strings, whatever is escaped in them', () => {
    const pieces = fc.array(fc.constantFrom('a'.repeat(31), 'a'.repeat(40), '\\', '"', '\\"', ',', 'é', '\n'), { maxLength: 20 });
    fc.assert(
      fc.property(
        fc.array(
          pieces.map((parts) => parts.join('')),
          { minLength: 1, maxLength: 5 },
        ),
        (texts) => {
          const json = bytes(`${JSON.stringify(texts)}${' '.repeat(20)}`);
          expect(whole(hasMoreValues(json, texts.length - 1))).toBe(true);
          expect(whole(hasMoreValues(json, texts.length))).toBe(false);
        },
      ),
    );
  });

  test('reads to the end of a string that does not end', () => {
    expect(whole(hasMoreValues(bytes(`[1,2,"${','.repeat(1_000)}`), 3))).toBe(false);
  });
});

describe('hasWideObject', () => {
  const fields = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'a,{"b":[']));

  test('counts the fields of each object on its own', () => {
    const value = { one: fields(100), list: [fields(100), { two: fields(100) }], items: Array.from({ length: 500 }, () => 0) };
    expect(whole(hasWideObject(bytes(JSON.stringify(value)), 100))).toBe(false);
    expect(whole(hasWideObject(bytes(JSON.stringify({ ...value, three: fields(101) })), 100))).toBe(true);
    expect(whole(hasWideObject(bytes(JSON.stringify({ list: [{}, [fields(101)]] })), 100))).toBe(true);
  });

  test('continues with the fields after an object or a list', () => {
    const mixed = Object.entries(fields(101)).flatMap(([key, value], index) => [[key, index % 2 === 0 ? { value } : [value]] as const]);
    expect(whole(hasWideObject(bytes(JSON.stringify(Object.fromEntries(mixed))), 100))).toBe(true);
  });

  test('accepts text that is not valid', () => {
    expect(whole(hasWideObject(bytes(`}}]]{"a":1${',"b":"c"'.repeat(101)}`), 100))).toBe(true);
  });
});

test.each<[string, (json: Buffer) => Parts<boolean>]>([
  ['values', (json) => hasMoreValues(json, 119_999)],
  ['fields', (json) => hasWideObject(json, 59_999)],
])('%s of a long text are counted in parts', (_, count) => {
  const json = (fields: number): Buffer =>
    bytes(JSON.stringify(Object.fromEntries(Array.from({ length: fields }, (_, at) => [`"${at}`, [at]]))));
  const parts = count(json(60_000));
  for (let part = 0; part < 5; part++) expect(parts.next().done).toBe(false);
  expect(whole(parts)).toBe(true);
  expect(whole(count(json(59_999)))).toBe(false);
});

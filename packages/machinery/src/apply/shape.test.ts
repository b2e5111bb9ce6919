import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { cloneJson, cloneJsonInParts } from './shape.ts';

const long = (value: Json): Json => ({ before: value, list: Array.from({ length: 600 }, () => [value]), after: [value] });

test('a copy is equal, with its fields in the same order, and shares nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const copy = cloneJson(long(value as Json));
      expect(JSON.stringify(copy)).toBe(JSON.stringify(long(value as Json)));
    }),
    { numRuns: 20 },
  );
  const list = [{ a: 1 }];
  expect(cloneJson({ list }).list[0]).not.toBe(list[0]);
});

test('a large value is copied in parts', () => {
  const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, [index]]));
  const parts = cloneJsonInParts({ fields, list: Object.values(fields) });
  let count = 1;
  let part = parts.next();
  for (; part.done !== true; part = parts.next()) count++;
  expect(part.value).toEqual({ fields, list: Object.values(fields) });
  expect(count).toBeGreaterThan(39);
});

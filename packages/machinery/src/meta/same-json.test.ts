import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonKey, sameJson } from './same-json.ts';

/** The same value with the fields of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reversed(part)]),
  );
}

it('ignores the order of fields', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => sameJson(value, reversed(structuredClone(value)))));
});

it('agrees with the keys of two values', () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => sameJson(one, other) === (jsonKey(one) === jsonKey(other))));
  fc.assert(fc.property(fc.jsonValue(), (value) => jsonKey(value) === jsonKey(reversed(structuredClone(value)))));
});

it.each([
  [[], {}],
  [null, undefined],
  [{ a: undefined }, {}],
  [[1], [1, 2]],
])('tells %j from %j', (one, other) => {
  expect([sameJson(one, other), sameJson(other, one)]).toEqual([false, false]);
});

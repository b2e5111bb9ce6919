import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { StatusError } from '../status/status.ts';
import { whole } from '../work/parts.ts';
import type { PatchReading } from './errors.ts';
import { mergePatch as mergePatchInParts } from './merge-patch.ts';

const mergePatch = (object: JsonObject, text: string, reading?: PatchReading): JsonObject =>
  whole(mergePatchInParts(object, text, reading));

function errorOf(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error('expected a StatusError, got none');
}

describe('a merge patch', () => {
  it.each<[JsonObject, JsonObject, JsonObject]>([
    [{ data: { a: '1', b: '2' } }, { data: { a: null, c: '3' } }, { data: { b: '2', c: '3' } }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ a: 'foo' }, { b: { bb: { c: null } } }, { a: 'foo', b: { bb: {} } }],
    [{ a: 'c' }, { a: { b: null, d: 1 } }, { a: { d: 1 } }],
    [{ a: 1 }, { list: [{ x: null, y: 1 }, null] }, { a: 1, list: [{ y: 1 }, null] }],
    [{ a: { b: 1 } }, { a: [null] }, { a: [null] }],
    [{ a: 1 }, {}, { a: 1 }],
  ])('%j with %j is %j', (object, patch, expected) => {
    expect(mergePatch(object, JSON.stringify(patch))).toEqual(expected);
  });

  it.each([
    ['{', 'error decoding patch: unexpected end of JSON input', 'Invalid JSON Patch'],
    ['null', 'Invalid JSON Patch', 'Invalid JSON Patch'],
    ['1', 'error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}', 'Invalid JSON Patch'],
    ['"x"', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}', 'Invalid JSON Patch'],
    ['[]', 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}', undefined],
  ])('rejects %s', (text, checked, unchecked) => {
    const error = errorOf(() => mergePatch({}, text));
    expect([error.code, error.message]).toEqual([400, checked]);
    const lenient = errorOf(() => mergePatch({}, text, { fieldValidation: 'Ignore' }));
    if (unchecked === undefined)
      expect([lenient.code, lenient.message]).toEqual([
        422,
        expect.stringContaining(`" is invalid: patch: Invalid value: "[]": couldn't get version/kind`),
      ]);
    else expect([lenient.code, lenient.message]).toEqual([400, unchecked]);
  });

  it('treats names of the prototype as plain names', () => {
    const patched = mergePatch({ data: {} }, '{"data":{"__proto__":{"polluted":"1"},"constructor":"2"}}');
    expect(JSON.stringify(patched)).toBe('{"data":{"__proto__":{"polluted":"1"},"constructor":"2"}}');
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(JSON.stringify(mergePatch(patched, '{"data":{"__proto__":null}}'))).toBe('{"data":{"constructor":"2"}}');
  });

  const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(null, 1, 'x'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  })).value;
  const map = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { noNullPrototype: true }) as fc.Arbitrary<JsonObject>;

  it('is idempotent and does not change its input', () => {
    fc.assert(
      fc.property(map, map, (object, patch) => {
        const before = JSON.stringify(object);
        const once = mergePatch(object, JSON.stringify(patch));
        expect(JSON.stringify(mergePatch(once, JSON.stringify(patch)))).toBe(JSON.stringify(once));
        expect(JSON.stringify(object)).toBe(before);
      }),
    );
  });

  it('copies an object deeper than the stack', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { a: deep };
    expect(Object.keys(mergePatch(deep, '{"b":1}'))).toEqual(['a', 'b']);
  });
});

it('is done in parts for a long patch', () => {
  const members = (value: string): JsonObject => Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, value]));
  const parts = mergePatchInParts({ data: members('a') }, JSON.stringify({ data: members('b') }));
  let count = 0;
  let part = parts.next();
  for (; !part.done; part = parts.next()) count++;
  expect(part.value).toEqual({ data: members('b') });
  expect(count).toBeGreaterThan(80);
});

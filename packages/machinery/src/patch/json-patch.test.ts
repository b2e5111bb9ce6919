import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { StatusError } from '../status/status.ts';
import { applyOperations, jsonPatch, jsonPatchInParts, UnfitOperation } from './json-patch.ts';

const object = (): JsonObject => ({ kind: 'ConfigMap', data: { a: '1', 'x/y': '2', 'm~n': '3' }, list: ['p', 'q'] });

function errorOf(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error('expected a StatusError, got none');
}

const run = (...operations: Json[]): JsonObject => jsonPatch(object(), JSON.stringify(operations));

describe('a JSON patch', () => {
  it.each<[string, Json, JsonObject]>([
    ['adds a member', { op: 'add', path: '/data/b', value: '2' }, { data: { a: '1', 'x/y': '2', 'm~n': '3', b: '2' } }],
    ['adds null if it has no value', { op: 'add', path: '/new' }, { new: null }],
    ['inserts an item', { op: 'add', path: '/list/1', value: 'x' }, { list: ['p', 'x', 'q'] }],
    ['appends an item', { op: 'add', path: '/list/-', value: 'x' }, { list: ['p', 'q', 'x'] }],
    ['counts from the end', { op: 'remove', path: '/list/-1' }, { list: ['p'] }],
    ['replaces a member that does not exist, as Kubernetes does', { op: 'replace', path: '/new', value: 1 }, { new: 1 }],
    ['replaces an item', { op: 'replace', path: '/list/0', value: 'x' }, { list: ['x', 'q'] }],
    ['moves', { op: 'move', from: '/data/a', path: '/b' }, { data: { 'x/y': '2', 'm~n': '3' }, b: '1' }],
    ['copies', { op: 'copy', from: '/list', path: '/more' }, { more: ['p', 'q'] }],
    ['copies a missing member as null', { op: 'copy', from: '/nope', path: '/more' }, { more: null }],
    ['reads escaped paths', { op: 'remove', path: '/data/x~1y' }, { data: { a: '1', 'm~n': '3' } }],
    ['reads escaped tildes', { op: 'remove', path: '/data/m~0n' }, { data: { a: '1', 'x/y': '2' } }],
    ['tests a value', { op: 'test', path: '/data', value: { 'm~n': '3', 'x/y': '2', a: '1' } }, {}],
    ['tests that a member is missing', { op: 'test', path: '/nope', value: null }, {}],
    ['ignores a plain value for the whole object', { op: 'replace', path: '', value: 1 }, {}],
  ])('%s', (_, operation, expected) => {
    expect(run(operation)).toEqual({ ...object(), ...expected });
  });

  it('replaces the whole object', () => {
    expect(run({ op: 'replace', path: '', value: { a: 1 } })).toEqual({ a: 1 });
  });

  it('does not share copied values', () => {
    expect(run({ op: 'copy', from: '/list', path: '/more' }, { op: 'add', path: '/more/-', value: 'z' })).toMatchObject({
      list: ['p', 'q'],
      more: ['p', 'q', 'z'],
    });
  });

  it.each<Json>([
    { op: 'nope', path: '/data' },
    { path: '/data/a' },
    { op: 'add' },
    { op: 'add', path: 'data' },
    { op: 'add', path: '', value: {} },
    { op: 'remove', path: '' },
    { op: 'remove', path: '/data/zzz' },
    { op: 'remove', path: '/nope/x' },
    { op: 'add', path: '/list/5', value: 'a' },
    { op: 'add', path: '/list/x', value: 'a' },
    { op: 'remove', path: '/list/-3' },
    { op: 'replace', path: '/list/2', value: 'a' },
    { op: 'add', path: '/kind/x', value: 'a' },
    { op: 'move', from: '/nope', path: '/data/b' },
    { op: 'test', path: '/data/a', value: '3' },
    { op: 'test', path: '/data/a', value: null },
    null,
  ])('rejects an operation that cannot be applied, without a reason: %j', (operation) => {
    expect(errorOf(() => run(operation)).status).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
      details: {},
    });
  });

  it.each([
    ['[', 'unexpected end of JSON input', 'unexpected end of JSON input'],
    ['', 'unexpected end of JSON input', 'unexpected end of JSON input'],
    ['[] x', "invalid character 'x' after top-level value", "invalid character 'x' after top-level value"],
    [
      '{"op":"add"}',
      'json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
      'json: cannot unmarshal object into Go value of type jsonpatch.Patch',
    ],
    [
      '[1]',
      'json: cannot unmarshal number into Go value of type handlers.jsonPatchOp',
      'json: cannot unmarshal number into Go value of type jsonpatch.Operation',
    ],
  ])('rejects a malformed patch with a reason: %s', (text, checked, unchecked) => {
    const error = errorOf(() => jsonPatch(object(), text));
    expect([error.code, error.message]).toEqual([400, `error decoding patch: ${checked}`]);
    expect(errorOf(() => jsonPatch(object(), text, { fieldValidation: 'Ignore' })).message).toBe(unchecked);
  });

  it('names a field of the wrong type', () => {
    expect(errorOf(() => jsonPatch(object(), '[{"op":1}]')).message).toBe(
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    );
    expect(errorOf(() => jsonPatch(object(), '[{"op":1}]', { fieldValidation: 'Ignore' })).code).toBe(422);
  });

  it('may be null, which changes nothing', () => {
    expect(jsonPatch(object(), 'null')).toEqual(object());
  });

  it('must result in an object', () => {
    expect(errorOf(() => run({ op: 'replace', path: '', value: [] })).code).toBe(422);
  });

  it('may have at most ten thousand operations', () => {
    const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }));
    expect(run(...operations.slice(1))).toEqual(object());
    const error = errorOf(() => run(...operations));
    expect([error.code, error.message]).toEqual([
      413,
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    ]);
  });

  it('cannot grow an object exponentially by copying', () => {
    const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '', path: '/x' })).map((operation, index) => ({
      ...operation,
      from: '/list',
      path: `/list/${index % 2}`,
    }));
    expect(errorOf(() => run(...doubling)).code).toBe(422);
  });

  it('treats names of the prototype as plain names', () => {
    const patched = jsonPatch(
      object(),
      '[{"op":"add","path":"/data/__proto__","value":{"polluted":true}},{"op":"test","path":"/constructor","value":null}]',
    );
    expect(Object.keys(patched['data'] as JsonObject)).toContain('__proto__');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(errorOf(() => run({ op: 'add', path: '/__proto__/polluted', value: 1 })).code).toBe(422);
  });

  it('never changes the object it is applied to', () => {
    const operation = fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
      path: fc.constantFrom('/data/a', '/list/0', '/list/-', '/new', '', '/data'),
      from: fc.constantFrom('/data', '/list/1', '/data/a'),
      value: fc.constantFrom<Json>('x', null, { a: 1 }, ['y']),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 5 }), (operations) => {
        const original = object();
        try {
          const patched = jsonPatch(original, JSON.stringify(operations));
          for (const value of Object.values(patched)) if (Array.isArray(value)) value.push('changed');
        } catch (error) {
          expect(error).toBeInstanceOf(StatusError);
        }
        expect(original).toEqual(object());
      }),
    );
  });

  it('reports an object deeper than the stack with 400', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { a: deep };
    expect(errorOf(() => jsonPatch(deep, '[]')).code).toBe(400);
  });

  it('rejects a result that operations have nested too deeply', () => {
    const levels = 400;
    const deep = JSON.parse(`{"spec":${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}}`) as JsonObject;
    const copy = [{ op: 'copy', from: '/spec', path: `/spec${'/a'.repeat(levels)}/b` }];
    expect(errorOf(() => jsonPatch(deep, JSON.stringify(copy)))).toMatchObject({
      code: 400,
      message: expect.stringContaining('too deeply'),
    });
    expect(() => applyOperations(deep, copy)).toThrow('too deeply');
    expect(jsonPatch(deep, '[{"op":"add","path":"/b","value":1}]')).toEqual({ ...deep, b: 1 });
  });
});

describe('a JSON patch that causes much work', () => {
  const large = (): JsonObject => ({ kind: 'Large', list: Array.from({ length: 100_000 }, () => 1), map: {} });
  const repeat = (operation: JsonObject, times = 10_000): string => JSON.stringify(Array.from({ length: times }, () => operation));

  it.each<[string, JsonObject, JsonObject]>([
    ['inserts at the beginning of a long list', large(), { op: 'add', path: '/list/0', value: 1 }],
    ['removes from it', large(), { op: 'remove', path: '/list/0' }],
    ['moves within it', large(), { op: 'move', from: '/list/0', path: '/list/1' }],
    [
      'compares large maps',
      { kind: 'Large', map: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1])) },
      { op: 'test', path: '/map', value: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1])) },
    ],
  ])('%s is refused', (_what, object, operation) => {
    const patch = repeat(operation, operation['op'] === 'test' ? 1000 : 10_000);
    expect(errorOf(() => jsonPatch(object, patch))).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
    expect(() => applyOperations(object, JSON.parse(patch) as JsonObject[])).toThrow(UnfitOperation);
  });

  it('is applied in parts, of which each moves few items', () => {
    const list = Array.from({ length: 10_000 }, () => 1);
    let parts = 1;
    const work = jsonPatchInParts({ kind: 'Large', list }, repeat({ op: 'add', path: '/list/0', value: 1 }, 2_000));
    let part = work.next();
    for (; part.done !== true; part = work.next()) parts++;
    expect(part.value['list']).toHaveLength(12_000);
    // Copying the list takes 20 parts, moving its items 2,000 times another 50, and looking at its items 20 more.
    expect(parts).toBeGreaterThan(90);
  });

  it('is applied if the lists are of an ordinary length', () => {
    const patched = jsonPatch(
      { kind: 'Small', list: [] },
      repeat({ op: 'add', path: '/list/0', value: 1 }).replaceAll('/list/0', '/list/-'),
    );
    expect(patched['list']).toHaveLength(10_000);
    const short: JsonObject = { kind: 'Small', list: Array.from({ length: 1000 }, () => 1) };
    const operations = Array.from({ length: 5000 }, () => [
      { op: 'add', path: '/list/0', value: 1 },
      { op: 'remove', path: '/list/0' },
    ]).flat();
    expect(jsonPatch(short, JSON.stringify(operations))).toEqual(short);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../json.ts';
import { compileJsonPath, JsonPathError, printJsonPathValue } from './jsonpath.ts';

const object = {
  metadata: { labels: { 'a.b/c': 'dotted', app: 'web' } },
  spec: {
    replicas: 3,
    list: [
      { name: 'x', size: 1 },
      { name: 'y', size: 5 },
    ],
    flags: { on: true, off: null },
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Done', status: 'False', reason: 'Why' },
    ],
  },
};

describe('JSONPath', () => {
  it.each([
    ['.spec.replicas', [3]],
    ['{.spec.replicas}', [3]],
    ['$.spec.replicas', [3]],
    ['spec.replicas', [3]],
    ['.spec.list[0].name', ['x']],
    ['.spec.list[-1].name', ['y']],
    ['.spec.list[0:1].name', ['x']],
    ['.spec.list[*].name', ['x', 'y']],
    ['.spec.flags.*', [true, null]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type == 'Done')].status", ['False']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Done']],
    ['.status.conditions[?(@.reason)].reason', ['Why']],
    ['.spec.list[?(@.size>1)].name', ['y']],
    ['.spec.list[?(@.size<=1)].name', ['x']],
    [".metadata.labels['a.b/c']", ['dotted']],
    ['.metadata.labels.a\\.b/c', ['dotted']],
    ['.spec.missing.deeper', []],
    ['.spec.list[7]', []],
    ['.spec.constructor', []],
  ])('%s finds %j', (path, expected) => {
    expect(compileJsonPath(path).find(object)).toEqual(expected);
  });

  it('a lone dot is the whole object', () => {
    expect(compileJsonPath('.').find(object)).toEqual([object]);
  });

  it.each(['.spec[', '.spec[x]', '.a b', '.list[?(@.a==)]', '.list[?(@.a==1]', '..a', ".a['b]"])('rejects %s', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });

  it('prints strings verbatim and other values as JSON', () => {
    expect(['x', 3, null, { a: [1] }].map(printJsonPathValue)).toEqual(['x', '3', '', '{"a":[1]}']);
  });
});

it('`first` returns the first result of `find`, within its effort limit', () => {
  const paths = ['.a', '.a[*].b', '.a[?(@.b)].a', '.*.*', '.a[0].b', '.a[-1:]', ".a[?(@.b=='x')].b", '.b.a[*]'];
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<Json>('x', 1),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b'), tie('tree'), { noNullPrototype: true }) as fc.Arbitrary<Json>,
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...paths), tree, (text, value) => {
      const path = compileJsonPath(text);
      expect(path.first(value, { left: 10_000 })).toEqual(path.find(value)[0]);
    }),
  );
  const effort = { left: 1000 };
  const missing = compileJsonPath('.a[*].b');
  expect(missing.first({ a: Array.from({ length: 10_000 }, () => ({})) }, effort)).toBeUndefined();
  expect(effort.left).toBeLessThanOrEqual(0);
});

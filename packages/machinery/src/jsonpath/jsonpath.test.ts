import { describe, expect, it } from 'vitest';
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

  it.each(['.spec[', '.spec[x]', '.a b', '.list[?(@.a==)]', '.list[?(@.a==1]', '..a', ".a['b]"])('%s is refused', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });

  it('prints text as it is and the rest as JSON', () => {
    expect(['x', 3, null, { a: [1] }].map(printJsonPathValue)).toEqual(['x', '3', '', '{"a":[1]}']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { object as objectType } from '../apply/test-types.ts';
import type { Json, JsonObject } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { Type } from '../schema/type.ts';
import { StatusError } from '../status/status.ts';
import { whole } from '../work/parts.ts';
import { strategicMergePatch as strategicMergePatchInParts } from './strategic-merge-patch.ts';

const strategicMergePatch = (object: JsonObject, text: string, type: Type): JsonObject =>
  whole(strategicMergePatchInParts(object, text, type));

const deployment = builtinTypes().object('io.k8s.api.apps.v1.Deployment')!;
const configMap = builtinTypes().object('io.k8s.api.core.v1.ConfigMap')!;

const withContainers = (...containers: Json[]): JsonObject => ({ spec: { template: { spec: { containers } } } });
const patch = (object: JsonObject, change: Json): JsonObject => strategicMergePatch(object, JSON.stringify(change), deployment);
const containersOf = (object: JsonObject): unknown =>
  (object as { spec: { template: { spec: { containers: unknown } } } }).spec.template.spec.containers;

function errorOf(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error('expected a StatusError, got none');
}

const a = { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] };
const b = { name: 'b', image: 'b:1' };

describe('a strategic merge patch of a keyed list', () => {
  it.each<[string, Json[], Json[], Json[]]>([
    ['puts new items first', [a], [b], [b, a]],
    [
      'merges items by their key, recursively',
      [b, a],
      [{ name: 'a', env: [{ name: 'Y', value: '2' }] }],
      [
        b,
        {
          ...a,
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '1' },
          ],
        },
      ],
    ],
    ['deletes an item', [b, a], [{ $patch: 'delete', name: 'b' }], [a]],
    ['deletes an item of a nested list', [a], [{ name: 'a', env: [{ $patch: 'delete', name: 'X' }] }], [{ ...a, env: [] }]],
    ['replaces the list', [a], [{ $patch: 'replace' }, b], [b]],
    [
      'replaces a nested map of an item',
      [a],
      [{ name: 'a', resources: { limits: { cpu: '1' } } }],
      [{ ...a, resources: { limits: { cpu: '1' } } }],
    ],
    [
      'keeps directives in new items, for field validation to reject',
      [a],
      [{ name: 'c', env: [{ name: 'x', $patch: 'delete' }] }],
      [{ name: 'c', env: [{ name: 'x', $patch: 'delete' }] }, a],
    ],
    ['drops nulls of new items', [a], [{ name: 'c', image: null }], [{ name: 'c' }, a]],
  ])('%s', (_, live, change, expected) => {
    expect(containersOf(patch(withContainers(...live), withContainers(...change)))).toEqual(expected);
  });

  it('applies the order that the patch sets', () => {
    const spec = {
      $setElementOrder: 0,
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }, { name: 'c' }],
      containers: [{ name: 'c', image: 'c:1' }],
    } as JsonObject;
    delete spec['$setElementOrder'];
    expect(containersOf(patch(withContainers(a, b), { spec: { template: { spec } } }))).toEqual([b, a, { name: 'c', image: 'c:1' }]);
    expect(
      containersOf(
        patch(withContainers(a, b), { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } } } }),
      ),
    ).toEqual([b, a]);
  });

  it('rejects an order that lacks items of the patch', () => {
    const change = { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'a' }], containers: [{ name: 'z' }] } } } };
    expect(errorOf(() => patch(withContainers(a), change)).message).toBe(
      "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    );
  });
});

describe('a strategic merge patch of other fields', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'merges maps and removes nulls',
      { metadata: { labels: { app: 'web' } } },
      { metadata: { labels: { app: null, tier: 'x' } } },
      { metadata: { labels: { tier: 'x' } } },
    ],
    [
      'keeps only the keys that it retains',
      { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
    ],
    [
      'merges lists of plain values',
      { metadata: { finalizers: ['a/1', 'a/2'] } },
      { metadata: { finalizers: ['a/3', 'a/1'] } },
      { metadata: { finalizers: ['a/3', 'a/1', 'a/2'] } },
    ],
    [
      'deletes from lists of plain values',
      { metadata: { finalizers: ['a/1', 'a/2'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/1'] } },
      { metadata: { finalizers: ['a/2'] } },
    ],
    ['deletes from a missing list', { metadata: {} }, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/1'] } }, { metadata: {} }],
    [
      'empties a map',
      { metadata: { labels: { app: 'web' } } },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: { labels: {} } },
    ],
    [
      'replaces a map',
      { metadata: { labels: { app: 'web' } } },
      { metadata: { labels: { $patch: 'replace', x: 'y' } } },
      { metadata: { labels: { x: 'y' } } },
    ],
    ['drops a directive for a missing field', {}, { metadata: { labels: { $patch: 'nope' } } }, { metadata: {} }],
    ['accepts unknown fields', {}, { nope: { a: 1 } }, { nope: { a: 1 } }],
    ['changes nothing if it is empty', { metadata: { name: 'a' } }, {}, { metadata: { name: 'a' } }],
  ])('%s', (_, live, change, expected) => {
    expect(patch(live, change)).toEqual(expected);
  });

  it('treats null as an empty patch', () => {
    expect(patch({ a: 1 }, null)).toEqual({ a: 1 });
  });

  it('replaces lists that do not merge', () => {
    const container = { name: 'a', command: ['x', 'y'] };
    expect(containersOf(patch(withContainers(container), withContainers({ name: 'a', command: ['z'] })))).toEqual([
      { name: 'a', command: ['z'] },
    ]);
  });
});

describe('an invalid strategic merge patch', () => {
  it.each<[Json, number, string]>([
    [withContainers({ image: 'x' }), 500, 'map: map[image:x] does not contain declared merge key: name'],
    [withContainers({ $patch: 'delete' }), 500, 'map: map[$patch:delete] does not contain declared merge key: name'],
    [withContainers({ $patch: 'merge', name: 'a' }), 500, 'merging lists cannot yet be specified in the patch'],
    [withContainers({ $patch: 'sing', name: 'a' }), 500, 'unknown patch type: sing in map: map[$patch:sing name:a]'],
    [{ metadata: { labels: { $patch: 'nope' } } }, 500, 'unknown patch type: nope in map: map[$patch:nope]'],
    [{ metadata: { $retainKeys: ['name'], labels: { a: 'b' } } }, 400, 'invalid patch format of retainKeys'],
    [{ metadata: { $retainKeys: 1 } }, 400, 'invalid patch format of retainKeys'],
    [{ metadata: { $deleteFromPrimitiveList: ['a'] } }, 400, 'invalid patch format of primitive list'],
    [{ metadata: { '$setElementOrder/finalizers': 1 } }, 500, 'expected a []interface {}, but received a int64'],
    [{ metadata: { '$setElementOrder/nope': ['a'] } }, 500, 'unable to find api field in struct ObjectMeta for the json field "nope"'],
    [{ metadata: { finalizers: [1] } }, 500, 'list element types are not identical: [[a/1] [1]]'],
    [{ metadata: { finalizers: [['x']] } }, 500, 'list element types are not identical: [[a/1] [[x]]]'],
    [[], 400, 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [1, 400, 'json: cannot unmarshal number into Go value of type map[string]interface {}'],
  ])('%j', (change, code, message) => {
    const live = { metadata: { labels: { a: 'b' }, finalizers: ['a/1'] }, ...withContainers(a) };
    const error = errorOf(() => patch(live, change));
    expect([error.code, error.message]).toEqual([code, message]);
  });

  it('reports malformed JSON', () => {
    expect(errorOf(() => strategicMergePatch({}, '{', deployment)).message).toBe('unexpected end of JSON input');
  });

  it('is not supported for custom resources', () => {
    const error = errorOf(() => strategicMergePatch({}, '{}', objectType({})));
    expect([error.code, error.message]).toEqual([400, 'strategic merge patch format is not supported']);
  });
});

describe('every strategic merge patch', () => {
  const word = fc.constantFrom('1', '2', '3');
  const env = fc.uniqueArray(fc.record({ name: word, value: word }), { selector: ({ name }) => name, maxLength: 3 });
  const containers = fc.uniqueArray(fc.record({ name: word, image: word, env }, { requiredKeys: ['name'] }), {
    selector: ({ name }) => name,
    maxLength: 3,
  });
  const labels = fc.dictionary(fc.constantFrom('a', '__proto__', 'constructor'), word, { noNullPrototype: true });
  const anyObject = fc
    .record({ metadata: fc.record({ labels, finalizers: fc.uniqueArray(word, { maxLength: 3 }) }, { requiredKeys: [] }), containers })
    .map(
      ({ metadata, containers: list }) => JSON.parse(JSON.stringify({ metadata, ...withContainers(...(list as Json[])) })) as JsonObject,
    );

  it('is idempotent and does not change its input', () => {
    fc.assert(
      fc.property(anyObject, anyObject, (object, change) => {
        const before = JSON.stringify(object);
        const once = patch(object, change);
        expect(JSON.stringify(patch(once, change))).toBe(JSON.stringify(once));
        expect(JSON.stringify(object)).toBe(before);
      }),
    );
  });

  it('keeps keys named like prototypes', () => {
    const patched = strategicMergePatch({ data: {} }, '{"data":{"__proto__":"1","constructor":"2"}}', configMap);
    expect(JSON.stringify(patched)).toBe('{"data":{"__proto__":"1","constructor":"2"}}');
  });

  it('copies an object deeper than the stack', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { a: deep };
    expect(Object.keys(strategicMergePatch(deep, '{"b":1}', configMap))).toEqual(['a', 'b']);
  });

  it('of a list with many thousands of items looks up each item once', () => {
    const items = (value: string): Json[] => Array.from({ length: 20_000 }, (_, index) => ({ name: `V${index}`, value }));
    const change = { name: 'a', env: items('2').toReversed(), '$setElementOrder/env': items('2').toReversed() };
    const patched = patch(withContainers({ name: 'a', env: items('1') }), withContainers(change));
    expect(containersOf(patched)).toEqual([{ name: 'a', env: items('2').toReversed() }]);
  });
});

import type { DiscoveredResource } from '@capstan/client/browser';
import { describe, expect, test } from 'vitest';
import { DocumentError, inOrderOf, objectIn, textOf } from './document.ts';
import { groupFromPath, groupInPath, listable, servedKind } from './kinds.ts';
import { cellValue, isAge } from './table.ts';

const kind = (group: string, resource: string, version = 'v1', verbs = ['list']): DiscoveredResource => ({
  group,
  version,
  resource,
  namespaced: true,
  kind: resource,
  verbs,
  shortNames: [],
  subresources: [],
});

test('kinds appear once, ours first, and only if they can be listed', () => {
  const all = [
    kind('zoo.example.com', 'animals'),
    kind('', 'pods'),
    kind('compute.capstan.dev', 'gpuunits', 'v1'),
    kind('compute.capstan.dev', 'gpuunits', 'v1alpha1'),
    kind('', 'bindings', 'v1', ['create']),
  ];
  expect(listable(all).map(({ resource, version }) => `${resource} ${version}`)).toEqual(['gpuunits v1', 'pods v1', 'animals v1']);
});

test('a kind is found in the version of the address, with its verbs', () => {
  const all = [kind('a', 'pods'), kind('', 'pods'), kind('', 'pods', 'v2', ['get'])];
  expect(servedKind(all, { group: '', version: 'v2', resource: 'pods' })?.verbs).toEqual(['get']);
  expect(servedKind(all, { group: '', version: 'v3', resource: 'pods' })).toBeUndefined();
  expect(servedKind(undefined, { group: '', version: 'v1', resource: 'pods' })).toBeUndefined();
});

test('the core group has a name in addresses', () => {
  for (const group of ['', 'apps']) expect(groupFromPath(groupInPath(group))).toBe(group);
  expect(groupInPath('')).not.toBe('');
});

describe('a document', () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', managedFields: [{ manager: 'x' }] }, data: { a: 'b: c' } };

  test('has no managed fields, and is the same object otherwise', () => {
    expect(objectIn(textOf(object))).toEqual({ ...object, metadata: { name: 'a' } });
  });

  test('begins with the fields that people write first', () => {
    const text = textOf({ metadata: { uid: 'u', namespace: 'team', name: 'a' }, kind: 'ConfigMap', apiVersion: 'v1' });
    expect(text).toBe('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: team\n  uid: u\n');
  });

  test('that the server returned has the order of the one before, so that a comparison shows only differences', () => {
    const before = { metadata: { name: 'a', labels: {} }, spec: { ports: [{ name: 'http', port: 80 }], image: 'i' } };
    const after = { spec: { image: 'j', env: [], ports: [{ port: 80, name: 'http' }] }, metadata: { labels: {}, name: 'a' } };
    const shown = inOrderOf(after, before);
    expect(shown).toEqual(after);
    expect(JSON.stringify(shown)).toBe(
      '{"metadata":{"name":"a","labels":{}},"spec":{"ports":[{"name":"http","port":80}],"image":"j","env":[]}}',
    );
  });

  test.each([
    ['no YAML', 'a: [b'],
    ['a list', '- a'],
    ['no kind', 'apiVersion: v1\nmetadata: {}'],
    ['no metadata', 'apiVersion: v1\nkind: A'],
  ])('with %s says so', (_what, text) => expect(() => objectIn(text)).toThrow(DocumentError));
});

test.each([
  ['the age of a kind of Kubernetes', 'Age', 'string', true],
  ['the age of a custom kind', 'Age', 'date', true],
  ['a number of years', 'Age', 'integer', false],
  ['a name', 'Name', 'string', false],
])('%s counts on by itself: %s of the type %s: %s', (_what, name, type, counts) => expect(isAge({ name, type })).toBe(counts));

test('cells keep numbers as numbers', () => {
  expect([3, 'a', '', null, { a: 1 }].map(cellValue)).toEqual([3, 'a', undefined, undefined, '{"a":1}']);
});

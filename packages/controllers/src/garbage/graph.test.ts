import type { DiscoveredResource } from '@capstan/client';
import type { ObjectMeta } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OwnerGraph } from './graph.ts';
import type { Item } from './item.ts';

const type: DiscoveredResource = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespaced: true,
  kind: 'ConfigMap',
  verbs: ['delete', 'list', 'watch'],
  shortNames: [],
  subresources: [],
};
const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });
const item = (uid: string, owners: string[] = [], metadata: ObjectMeta = {}): Item => ({
  uid,
  cluster: 'root',
  type,
  metadata: { name: uid, namespace: 'n', uid, ownerReferences: owners.map(owner), ...metadata },
});
const foreground = { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] };

describe('a change asks for a look at', () => {
  test('an object whose owner is unknown', () => {
    expect(new OwnerGraph().put(item('child', ['parent']))).toEqual(['child']);
  });

  test('nothing if the owner is known', () => {
    const graph = new OwnerGraph();
    graph.put(item('parent'));
    expect(graph.put(item('child', ['parent']))).toEqual([]);
  });

  test('dependents when their owner is deleted', () => {
    const graph = new OwnerGraph();
    graph.put(item('parent'));
    graph.put(item('child', ['parent']));
    expect(graph.remove('parent')).toEqual(['child']);
  });

  test('dependents when their owner starts to wait for them, once', () => {
    const graph = new OwnerGraph();
    graph.put(item('parent'));
    graph.put(item('child', ['parent']));
    expect(graph.put(item('parent', [], foreground))).toEqual(['parent', 'child']);
    expect(graph.put(item('parent', [], foreground))).toEqual(['parent']);
  });

  test('an owner that waits when a dependent is deleted or drops its reference', () => {
    const graph = new OwnerGraph();
    graph.put(item('parent', [], foreground));
    graph.put(item('one', ['parent']));
    graph.put(item('two', ['parent']));
    expect(graph.remove('one')).toEqual(['parent']);
    expect(graph.put(item('two'))).toEqual(['parent']);
  });

  test('a dependent that names an owner in another namespace, in either order', () => {
    const before = new OwnerGraph();
    before.put(item('parent', [], { namespace: 'other' }));
    expect(before.put(item('child', ['parent']))).toEqual(['child']);
    const after = new OwnerGraph();
    after.put(item('child', ['parent']));
    expect(after.put(item('parent', [], { namespace: 'other' }))).toEqual(['child']);
  });
});

test('dependents are always the objects that currently name the owner', () => {
  const uids = ['a', 'b', 'c', 'd'];
  const change = fc.oneof(
    fc.record({ put: fc.constantFrom(...uids), owners: fc.uniqueArray(fc.constantFrom(...uids)) }),
    fc.record({ remove: fc.constantFrom(...uids) }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const graph = new OwnerGraph();
      const model = new Map<string, string[]>();
      for (const one of changes) {
        if ('put' in one) {
          graph.put(item(one.put, one.owners));
          model.set(one.put, one.owners);
        } else {
          graph.remove(one.remove);
          model.delete(one.remove);
        }
      }
      for (const uid of uids) {
        const expected = [...model].filter(([, owners]) => owners.includes(uid)).map(([name]) => name);
        const found = graph.dependentsOf(uid).map((one) => one.uid);
        expect(found.sort()).toEqual(expected.sort());
      }
    }),
  );
});

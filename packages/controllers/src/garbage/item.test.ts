import { expect, test } from 'vitest';
import type { JournalEntry } from '../journal/follow.ts';
import { Items } from './item.ts';

const entry = (cluster: string, apiVersion: string, metadata: object): JournalEntry =>
  ({ type: 'ADDED', cluster, resource: 'widgets', kind: 'Widget', apiVersion, metadata }) as JournalEntry;

test('an item has the identity and owners of its journal entry', () => {
  const metadata = { uid: 'u', name: 'a', namespace: 'x', finalizers: ['example.com/some-finalizer'] };
  expect(new Items().of(entry('one', 'things.example/v1', metadata))).toEqual({
    uid: 'u',
    cluster: 'one',
    type: { group: 'things.example', version: 'v1', resource: 'widgets', kind: 'Widget', namespaced: true },
    metadata,
  });
});

test('items of the same type share it, in all workspaces', () => {
  const items = new Items();
  const [one, other] = ['one', 'two'].map((cluster) => items.of(entry(cluster, 'v1', { uid: cluster, name: 'a' })));
  expect(one!.type).toBe(other!.type);
  expect(items.of(entry('one', 'v2', { uid: 'u', name: 'a' })).type).not.toBe(one!.type);
  expect(items.of(entry('one', 'v1', { uid: 'u', name: 'a', namespace: 'x' })).type.namespaced).toBe(true);
});

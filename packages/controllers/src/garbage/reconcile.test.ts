import type { DiscoveredResource } from '@capstan/client';
import type { ObjectMeta, OwnerReference } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { OwnerGraph } from './graph.ts';
import type { Item } from './item.ts';
import { type OwnerState, reconcileItem } from './reconcile.ts';

const type: DiscoveredResource = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespaced: true,
  kind: 'ConfigMap',
  verbs: [],
  shortNames: [],
  subresources: [],
};
const owner = (uid: string, blockOwnerDeletion = true): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: uid,
  uid,
  blockOwnerDeletion,
});
const item = (uid: string, ownerReferences: OwnerReference[] = [], metadata: ObjectMeta = {}): Item => ({
  uid,
  cluster: 'root',
  type,
  metadata: { name: uid, uid, ownerReferences, ...metadata },
});
const leaving = (...finalizers: string[]): ObjectMeta => ({ deletionTimestamp: 'now', finalizers });

/** What is done about the first of the items, when its owners are in these states. */
async function doneAbout(items: readonly Item[], states: Readonly<Record<string, OwnerState>> = {}): Promise<string[]> {
  const graph = new OwnerGraph();
  for (const one of items) graph.put(one);
  const log: string[] = [];
  await reconcileItem(graph, items[0]?.uid ?? '', {
    stateOf: async ({ uid }) => states[uid] ?? 'dangling',
    remove: async ({ uid }, propagation) => void log.push(`remove ${uid} ${propagation}`),
    dropOwners: async ({ uid }, owners) => void log.push(`drop owners ${[...owners].join()} of ${uid}`),
    unblock: async ({ uid }) => void log.push(`unblock ${uid}`),
    dropFinalizer: async ({ uid }, finalizer) => void log.push(`drop finalizer ${finalizer} of ${uid}`),
    look: (uid) => void log.push(`look at ${uid}`),
  });
  return log;
}

test.each<[string, Item[], Record<string, OwnerState>, string[]]>([
  ['an object without owners stays', [item('a')], {}, []],
  [
    'it waits for nothing in another workspace, whatever that says',
    [item('a', [], leaving('foregroundDeletion')), { ...item('b', [owner('a')]), cluster: 'other' }],
    {},
    ['drop finalizer foregroundDeletion of a'],
  ],
  [
    'it lets nothing loose in another workspace',
    [item('a', [], leaving('orphan')), { ...item('b', [owner('a')]), cluster: 'other' }],
    {},
    ['drop finalizer orphan of a'],
  ],
  ['its only owner gone: it goes', [item('a', [owner('x')])], {}, ['remove a Background']],
  ['all owners gone: it goes', [item('a', [owner('x'), owner('y')])], {}, ['remove a Background']],
  ['an owner left: it stays', [item('a', [owner('x')])], { x: 'solid' }, []],
  ['one owner left, one gone: only the reference goes', [item('a', [owner('x'), owner('y')])], { x: 'solid' }, ['drop owners y of a']],
  [
    'one owner left, one waiting: the one that waits is freed',
    [item('a', [owner('x'), owner('y')])],
    { x: 'solid', y: 'waiting' },
    ['drop owners y of a'],
  ],
  ['an owner that cannot be: nothing is decided', [item('a', [owner('x'), owner('y')])], { x: 'impossible' }, []],
  ['a wish to orphan is honoured', [item('a', [owner('x')], { finalizers: ['orphan'] })], {}, ['remove a Orphan']],
  [
    'a wish to go after dependents is honoured',
    [item('a', [owner('x')], { finalizers: ['foregroundDeletion'] })],
    {},
    ['remove a Foreground'],
  ],
  ['its owner waits: it goes', [item('a', [owner('x')])], { x: 'waiting' }, ['remove a Background']],
  [
    'its owner waits, and it owns others: they go first',
    [item('a', [owner('x')]), item('b', [owner('a')])],
    { x: 'waiting' },
    ['remove a Foreground'],
  ],
  [
    'around a circle nobody is held up',
    [item('a', [owner('b')]), item('b', [owner('a')], leaving('foregroundDeletion'))],
    { b: 'waiting' },
    ['unblock a', 'remove a Foreground'],
  ],
  ['what leaves already is left alone', [item('a', [owner('x')], leaving('example.com/other'))], {}, []],
  [
    'foreground: it waits for those that block it',
    [item('a', [], leaving('foregroundDeletion')), item('b', [owner('a')]), item('c', [owner('a', false)])],
    {},
    ['look at b'],
  ],
  [
    'foreground: nobody blocks it any more',
    [item('a', [], leaving('foregroundDeletion')), item('c', [owner('a', false)])],
    {},
    ['drop finalizer foregroundDeletion of a'],
  ],
  [
    'orphan: dependents are let loose before it goes',
    [item('a', [], leaving('orphan')), item('b', [owner('a')])],
    {},
    ['drop owners a of b', 'drop finalizer orphan of a'],
  ],
])('%s', async (_what, items, states, expected) => {
  expect(await doneAbout(items, states)).toEqual(expected);
});

test('what is gone meanwhile is no trouble', async () => {
  expect(await doneAbout([])).toEqual([]);
});

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

/** The actions on the first of the items, if its owners are in these states. */
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
  ['keeps an object without owners', [item('a')], {}, []],
  [
    'does not wait for dependents in another workspace',
    [item('a', [], leaving('foregroundDeletion')), { ...item('b', [owner('a')]), cluster: 'other' }],
    {},
    ['drop finalizer foregroundDeletion of a'],
  ],
  [
    'does not orphan dependents in another workspace',
    [item('a', [], leaving('orphan')), { ...item('b', [owner('a')]), cluster: 'other' }],
    {},
    ['drop finalizer orphan of a'],
  ],
  ['deletes an object whose only owner is gone', [item('a', [owner('x')])], {}, ['remove a Background']],
  ['deletes an object whose owners are all gone', [item('a', [owner('x'), owner('y')])], {}, ['remove a Background']],
  ['keeps an object with an owner', [item('a', [owner('x')])], { x: 'solid' }, []],
  [
    'removes only the reference to one owner of two that is gone',
    [item('a', [owner('x'), owner('y')])],
    { x: 'solid' },
    ['drop owners y of a'],
  ],
  [
    'removes the reference to an owner that waits if another owner exists',
    [item('a', [owner('x'), owner('y')])],
    { x: 'solid', y: 'waiting' },
    ['drop owners y of a'],
  ],
  ['decides nothing about an object with an impossible owner', [item('a', [owner('x'), owner('y')])], { x: 'impossible' }, []],
  ['orphans dependents if a finalizer asks for it', [item('a', [owner('x')], { finalizers: ['orphan'] })], {}, ['remove a Orphan']],
  [
    'deletes in the foreground if a finalizer asks for it',
    [item('a', [owner('x')], { finalizers: ['foregroundDeletion'] })],
    {},
    ['remove a Foreground'],
  ],
  ['deletes an object that its owner waits for', [item('a', [owner('x')])], { x: 'waiting' }, ['remove a Background']],
  [
    'deletes an object that its owner waits for after its own dependents',
    [item('a', [owner('x')]), item('b', [owner('a')])],
    { x: 'waiting' },
    ['remove a Foreground'],
  ],
  [
    'breaks a cycle of owners that wait for each other',
    [item('a', [owner('b')]), item('b', [owner('a')], leaving('foregroundDeletion'))],
    { b: 'waiting' },
    ['unblock a', 'remove a Foreground'],
  ],
  ['leaves an object alone that is being deleted', [item('a', [owner('x')], leaving('example.com/other'))], {}, []],
  [
    'foreground: waits for the dependents that block it',
    [item('a', [], leaving('foregroundDeletion')), item('b', [owner('a')]), item('c', [owner('a', false)])],
    {},
    ['look at b'],
  ],
  [
    'foreground: releases the object once no dependent blocks it',
    [item('a', [], leaving('foregroundDeletion')), item('c', [owner('a', false)])],
    {},
    ['drop finalizer foregroundDeletion of a'],
  ],
  [
    'orphan: removes the references of dependents before it releases the object',
    [item('a', [], leaving('orphan')), item('b', [owner('a')])],
    {},
    ['drop owners a of b', 'drop finalizer orphan of a'],
  ],
])('%s', async (_what, items, states, expected) => {
  expect(await doneAbout(items, states)).toEqual(expected);
});

test('ignores an object that is gone', async () => {
  expect(await doneAbout([])).toEqual([]);
});

import { type Allocation, allocationFinalizer, type BookingEntry, type GPUUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import { allocationFor, nodeUnitFor } from './making.ts';

test('the Allocation of a unit is protected from the beginning, so that the scheduler needs no write for that', () => {
  const unit = {
    apiVersion: 'compute.capstan.dev/v1alpha1',
    kind: 'GPUUnit',
    metadata: { name: 'train', namespace: 'default', uid: 'uid' },
    spec: { offering: 'small', nodes: 1, priority: 0 },
    status: { allocation: 'train-uid-1' },
  } as GPUUnit;
  expect(allocationFor(unit)).toMatchObject({
    metadata: { name: 'train-uid-1', namespace: 'default', finalizers: [allocationFinalizer], ownerReferences: [{ uid: 'uid' }] },
    spec: { offering: 'small' },
  });
});

test('the NodeUnit of a unit has its idleTimeout, so that the node can say in time that it is idle', () => {
  const unit = {
    apiVersion: 'compute.capstan.dev/v1alpha1',
    kind: 'GPUUnit',
    metadata: { name: 'train', namespace: 'default', uid: 'uid' },
    spec: { offering: 'small', command: ['true'], nodes: 1, idleTimeout: '40s' },
    status: { run: 1, members: [{ rank: 0, node: 'n1' }] },
  } as unknown as GPUUnit;
  const entry = { devices: [], cpu: 1, memory: 1 } as unknown as BookingEntry;
  const allocation = { metadata: { uid: 'allocation' } } as Allocation;
  const scene = { unit, node: () => undefined, storage: () => undefined };
  expect(nodeUnitFor(scene, { allocation, entry, rank: 0 }).spec).toMatchObject({ idleTimeout: '40s', allocation: 'allocation' });
});

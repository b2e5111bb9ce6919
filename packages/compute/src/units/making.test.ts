import { allocationFinalizer, type GPUUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import { allocationFor } from './making.ts';

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

import type { GPUStorage } from '@capstan/api';
import { expect, test } from 'vitest';
import { accessorOf, hasNode } from './accessor.ts';

const storage = (name: string, spec: object = {}, status: object = {}): GPUStorage =>
  ({ metadata: { name, namespace: 'default' }, spec, status }) as unknown as GPUStorage;

test('the unit is in the namespace of the storage, and ends by itself', () => {
  const { metadata, spec } = accessorOf(storage('data'), 'a1b2c3');
  expect(metadata).toEqual({ name: 'volume-data-a1b2c3', namespace: 'default' });
  expect(spec).toMatchObject({ mounts: [{ storage: 'data', readOnly: false }], maxDuration: '1h', network: 'None' });
});

test('the files of a snapshot are mounted so that they cannot change', () => {
  expect(accessorOf(storage('before', { snapshotOf: 'data' }), 'a1b2c3').spec.mounts).toMatchObject([{ readOnly: true }]);
});

test('a storage has files once it has a node, or names one', () => {
  expect(hasNode(storage('data'))).toBe(false);
  expect(hasNode(storage('data', { node: 'vm' }))).toBe(true);
  expect(hasNode(storage('data', {}, { node: 'vm' }))).toBe(true);
});

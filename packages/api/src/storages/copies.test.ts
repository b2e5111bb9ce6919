import { expect, test } from 'vitest';
import type { GPUStorage } from '../compute/gpu-storage.ts';
import { cloneSpec, isCloneable, isSnapshottable, snapshotName, snapshotSpec } from './copies.ts';

const storage = (spec: object = {}, status: object = { node: 'vm' }): GPUStorage =>
  ({ metadata: { name: 'data' }, spec: { size: '1Gi', class: 'local', ...spec }, status }) as unknown as GPUStorage;
const snapshot = storage({ snapshotOf: { name: 'other' } });

test('the name of a snapshot sorts by time', () => {
  expect(snapshotName('data', new Date('2026-03-04T05:06:07.890Z'))).toBe('data-20260304-050607');
});

test('a snapshot names its storage', () => {
  expect(snapshotSpec(storage())).toEqual({ size: '1Gi', snapshotOf: { name: 'data' } });
});

test('a clone begins with the files of a storage or of a snapshot', () => {
  expect(cloneSpec(storage())).toEqual({ size: '1Gi', prepare: { storage: { name: 'data' } } });
  expect(cloneSpec(snapshot)).toEqual({ size: '1Gi', prepare: { snapshot: { name: 'data' } } });
});

test.each([
  ['a storage on a node', storage(), true, true],
  ['a snapshot', snapshot, true, false],
  ['a storage on no node', storage({}, {}), false, false],
  ['a storage in a shared directory', storage({ class: 'scratch' }), false, false],
])('%s can be cloned and have snapshots as the controller allows', (_, one, cloneable, snapshottable) => {
  expect([isCloneable(one), isSnapshottable(one)]).toEqual([cloneable, snapshottable]);
});

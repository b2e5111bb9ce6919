import type { GPUStorage } from '@capstan/api';
import { expect, test } from 'vitest';
import { stateOf, usedShare } from './state.ts';

const storage = (status?: object, spec: object = {}): GPUStorage =>
  ({ apiVersion: 'v1', kind: 'GPUStorage', metadata: { name: 'data' }, spec: { size: '1Gi', ...spec }, status }) as unknown as GPUStorage;

test.each([
  ['nobody has mounted yet', storage({ phase: 'Pending' }), 'Unused', 'idle'],
  ['waits for space on its node', storage({ phase: 'Pending', node: 'a' }), 'Pending', 'warn'],
  ['is ready', storage({ phase: 'Ready', node: 'a' }), 'Ready', 'good'],
  ['failed', storage({ phase: 'Failed', node: 'a' }), 'Failed', 'bad'],
])('a storage that %s', (_what, object, word, tone) => expect(stateOf(object)).toMatchObject({ word, tone }));

test('its use is a share of its file system', () => {
  expect(usedShare(storage({ usedBytes: 50, capacityBytes: 200 }))).toBe(0.25);
  expect(usedShare(storage({ usedBytes: 50, capacityBytes: 0 }))).toBeUndefined();
  expect(usedShare(storage())).toBeUndefined();
});

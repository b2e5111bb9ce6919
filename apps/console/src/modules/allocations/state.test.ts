import type { Allocation } from '@capstan/api';
import { expect, test } from 'vitest';
import { byTurn, ownerOf, partsOf, standingOf, stateOf } from './state.ts';

const allocation = (name: string, { status, metadata, spec }: { status?: object; metadata?: object; spec?: object } = {}): Allocation =>
  ({
    apiVersion: 'v1',
    kind: 'Allocation',
    metadata: { name, ...metadata },
    spec: { nodes: 1, priority: 0, ...spec },
    ...(status && { status }),
  }) as unknown as Allocation;

test('an order waits until it is granted', () => {
  expect(standingOf(allocation('a'))).toBe('waiting');
  expect(stateOf(allocation('a', { status: { phase: 'Active' } }))).toMatchObject({ word: 'Active', tone: 'good' });
  expect(stateOf(allocation('a', { metadata: { deletionTimestamp: 'now' }, status: { phase: 'Active' } })).word).toBe('Releasing');
});

test.each([
  ['active', { status: { phase: 'Active' } }, 'granted'],
  ['failed', { status: { phase: 'Failed' } }, 'over'],
  ['being released', { status: { phase: 'Releasing' } }, 'over'],
  ['being deleted', { metadata: { deletionTimestamp: 'now' }, status: { phase: 'Active' } }, 'over'],
])('an order that is %s does not count as another', (_what, patch, standing) => expect(standingOf(allocation('a', patch))).toBe(standing));

test('names its nodes and who ordered it', () => {
  const parts = [
    { node: 'gpu-1', devices: ['0', '1'] },
    { node: 'cpu-1', devices: [] },
  ];
  expect(partsOf(allocation('a', { status: { parts } }))).toBe('gpu-1 (2 GPUs), cpu-1');
  expect(ownerOf(allocation('a', { metadata: { ownerReferences: [{ kind: 'GPUUnit', name: 'train' }] } }))).toEqual({
    kind: 'GPUUnit',
    name: 'train',
  });
});

test('a higher priority comes first, then the older one', () => {
  const at = (creationTimestamp: string) => ({ metadata: { creationTimestamp } });
  const queue = [
    allocation('young', at('2026-01-02')),
    allocation('old', at('2026-01-01')),
    allocation('urgent', { ...at('2026-01-03'), spec: { priority: 5 } }),
  ];
  expect(queue.sort(byTurn).map(({ metadata }) => metadata.name)).toEqual(['urgent', 'old', 'young']);
});

import { done, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { explainPending, type Pod } from './reconcile.ts';

const created = Date.parse('2026-01-01T00:00:00Z');
const pod = (more: Partial<Pod> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  status: { phase: 'Pending' },
  ...more,
});

async function explain(one: Pod | undefined, { nodes = 0, age = 60_000 } = {}) {
  const written: KubeObject[] = [];
  const result = await explainPending(one, {
    hasNodes: () => nodes > 0,
    patience: 2_000,
    record: async (event) => void written.push(event),
    now: () => new Date(created + age),
  });
  return { result, written };
}

describe('a pod that no scheduler looks at', () => {
  test('gets an event that explains why, under a name of its own', async () => {
    const { result, written } = await explain(pod());
    expect(result).toEqual(done);
    expect(written).toMatchObject([
      {
        metadata: { name: 'web.u1', namespace: 'shop' },
        involvedObject: { kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u1' },
        type: 'Warning',
        reason: 'FailedScheduling',
        message: expect.stringMatching(/^no nodes are attached to this control plane, so nothing runs pods: /),
        source: { component: 'capstan' },
      },
    ]);
  });

  test('is left to a scheduler for a moment', async () => {
    expect(await explain(pod(), { age: 500 })).toEqual({ result: requeueAfter(1_500), written: [] });
  });
});

test.each([
  ['that is gone', undefined, {}],
  ['while there are nodes', pod(), { nodes: 1 }],
  ['that has a node', pod({ spec: { nodeName: 'a' } }), {}],
  ['that a scheduler has looked at', pod({ status: { phase: 'Pending', conditions: [{ type: 'PodScheduled' }] } }), {}],
  ['that runs', pod({ status: { phase: 'Running' } }), {}],
  ['that is being deleted', pod({}, { deletionTimestamp: '2026-01-01T00:00:10Z' }), {}],
])('a pod %s gets no event', async (_, one, state) => {
  expect(await explain(one, state)).toEqual({ result: done, written: [] });
});

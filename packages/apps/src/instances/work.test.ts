import type { AppInstance } from '@capstan/api';
import { expect, test } from 'vitest';
import { Memory } from './memory.ts';
import { Work, type WorkOptions } from './work.ts';

const instanceOf = (generation: number, follower: string): AppInstance =>
  ({
    apiVersion: 'apps.capstan.dev/v1alpha1',
    kind: 'AppInstance',
    metadata: { name: 'i', namespace: 'default', uid: 'u', generation },
    spec: { app: 'pair', placement: { leader_allocation_id: 'a', follower_allocation_ids: [follower] }, stopped: false, paused: false },
  }) as unknown as AppInstance;

const nothing = { get: () => undefined, byIndex: () => [] };

/** Work on an instance whose placement names b, while the server has this one. */
function workOn(stored: AppInstance): Work {
  const app = { metadata: { name: 'pair' }, spec: { versions: [{ name: '1' }], components: [] } };
  const resource = {
    in: () => ({ type: { resource: 'appinstances' }, patch: async (_: object, { patch }: { patch: object }) => ({ ...stored, ...patch }) }),
  };
  const adapter = {
    members: async ({ instance }: { instance: AppInstance['spec'] }) => ({ members: [], probes: {}, asked: instance.placement }),
  };
  return new Work(instanceOf(1, 'b'), {
    copies: new Proxy({}, { get: (_, name) => (name === 'apps' ? { get: () => app } : nothing) }),
    client: { resource: () => resource },
    platform: {},
    events: { record: () => {} },
    wrote: () => {},
    now: Date.now,
    workspace: 'root:main:vision',
    adapterOf: () => adapter,
    memory: new Memory(),
  } as unknown as WorkOptions);
}

test('an answer about members counts as long as the instance has the wish that it was given for', async () => {
  const work = workOn(instanceOf(1, 'b'));
  await work.perform({ kind: 'askMembers' });
  await work.perform({ kind: 'status', status: { message: 'anything' } });
  expect(work.scene().wanted).toMatchObject({ kind: 'answer' });
});

test('an answer about members does not count for a wish that comes with the answer to a write', async () => {
  const work = workOn(instanceOf(2, 'c'));
  await work.perform({ kind: 'askMembers' });
  await work.perform({ kind: 'status', status: { message: 'anything' } });
  expect(work.scene().instance.spec.placement).toMatchObject({ follower_allocation_ids: ['c'] });
  expect(work.scene().wanted).toEqual({ kind: 'unasked' });
});

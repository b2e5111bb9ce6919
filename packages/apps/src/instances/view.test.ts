import { type App, appKind, newObject } from '@capstan/api';
import { expect, test } from 'vitest';
import { adapterInstance } from '../adapter/requests.ts';
import { builtInAdapters } from '../adapters/built-in.ts';
import { wishOf } from '../checking/wish.ts';
import type { Scene } from './scene.ts';
import { type View, viewOf } from './view.ts';

const apps = builtInAdapters.flatMap(({ adapter, apps: entries }) =>
  entries().map((app) => [app.metadata.name ?? '', { adapter, app: newObject(appKind, app) as App }] as const),
);
const placements: Readonly<Record<string, object>> = { slurm: { controller_allocation_id: 'a' } };

async function view({ adapter, app }: (typeof apps)[number][1], use: ReturnType<Scene['useOf']>): Promise<View> {
  const spec = { app: app.metadata.name, placement: placements[app.metadata.name ?? ''] ?? { server_allocation_id: 'a' } };
  const instance = { metadata: { name: 'lab', namespace: 'default', uid: 'u' }, spec } as unknown as Scene['instance'];
  const wish = wishOf(instance, app);
  if (wish.kind === 'problem') throw new Error(wish.problem.message);
  // What an adapter learns of an allocation that cannot be used now.
  const allocations = [{ name: 'a', isExclusive: true }];
  const value = await adapter.members({ instance: adapterInstance(instance, app, { wish: wish.value, workspace: 'root' }), allocations });
  return viewOf({ instance, app, wanted: { kind: 'answer', value }, useOf: () => use, taken: new Map() } as unknown as Scene);
}

test.each(apps)('%s waits for an allocation with the words of the scheduler', async (_name, one) => {
  const message = 'waits for the Allocation a, which is Pending: no node has eight free GPUs';
  expect(await view(one, { kind: 'waiting', message })).toMatchObject({ kind: 'waiting', message });
});

test.each(apps)('%s refuses an allocation that shares its node or has failed, with the real reason', async (_name, one) => {
  for (const code of ['NotExclusive', 'AllocationFailed'])
    expect(await view(one, { kind: 'unusable', code, message: code })).toMatchObject({ kind: 'problem', problem: { code, message: code } });
  expect(await view(one, { kind: 'missing', message: 'there is none' })).toMatchObject({ problem: { code: 'NoAllocation' } });
});

import { appOperationKind } from '@capstan/api';
import { expect, test, vi } from 'vitest';
import { AppWorld } from '../testing/world.ts';
import { decide } from './decide.ts';

vi.setConfig({ testTimeout: 60_000 });

const nodes = Array.from({ length: 600 }, (_, index) => `n${index}`);
const [leader = '', ...followers] = nodes;
/** The limit of `status.steps`. */
const mostShown = 512;

async function reconcile(world: AppWorld): Promise<void> {
  world.restart();
  for (let scene = world.scene(); scene !== undefined; scene = world.scene()) {
    const step = decide(scene);
    if (step.kind === 'wait') return;
    if (step.kind === 'operationStatus') expect(step.status?.steps?.length ?? 0).toBeLessThanOrEqual(mostShown);
    await world.perform(step);
  }
}

async function settle(world: AppWorld, isSettled: () => boolean): Promise<number[]> {
  const progress: number[] = [];
  for (let round = 0; round < 60 && !isSettled(); round++) {
    world.now += 400_000;
    await reconcile(world);
    progress.push(world.instance?.status?.progress?.completed ?? 0);
    world.work();
  }
  expect(isSettled(), world.instance?.status?.message).toBe(true);
  return progress;
}

const start = (): AppWorld => new AppWorld(nodes, { leader_allocation_id: leader, follower_allocation_ids: followers });
const operation = (world: AppWorld, type: string) => [...world.operations.values()].findLast(({ spec }) => spec.type === type)?.status;
const isDone = (world: AppWorld, type: string) => (): boolean => operation(world, type)?.state === 'succeeded';

test('an instance of 600 members is deployed, stopped and removed, though a status has room for 512 steps', async () => {
  const world = start();
  const progress = await settle(world, isDone(world, 'deploy'));
  expect(progress).toEqual(progress.toSorted((one, other) => one - other));
  // Two steps for each, and one more for the leader.
  expect(operation(world, 'deploy')?.progress).toEqual({ completed: 1201, total: 1201 });
  expect([...world.members.values()].every(({ status }) => status?.joined === true && status.state === 'running')).toBe(true);
  world.change({ stopped: true });
  await settle(world, isDone(world, 'stop'));
  expect([...world.members.values()].every(({ status }) => status?.state === 'stopped')).toBe(true);
  world.delete();
  await settle(world, () => world.instance === undefined);
  for (const { began } of world.machines) expect(new Set(began).size).toBe(began.length);
  expect([world.members.size, world.tasks.size]).toEqual([0, 0]);
});

test('a failure in a later part is tried again from there', async () => {
  const world = start();
  const last = world.machines.at(-1)!;
  last.broken.set('service.ensure', { retryable: false });
  await settle(world, () => operation(world, 'deploy')?.state === 'failed');
  const before = last.began.length;
  last.broken.clear();
  world.ask('retry');
  await settle(world, isDone(world, 'deploy'));
  expect(last.began.length).toBe(before + 1);
  expect(world.machines[1]!.began).toHaveLength(2);
});

test('members from which nothing could be removed are named at the end, those of the first part too', async () => {
  const world = start();
  await settle(world, isDone(world, 'deploy'));
  world.allocations.delete('n1');
  world.delete();
  await settle(world, () => world.instance === undefined);
  expect(operation(world, 'decommission')?.residues).toMatchObject([{ node: 'n1', message: expect.stringContaining('Allocation') }]);
});

test('a removal by force names only members that were not removed', async () => {
  const world = start();
  await settle(world, isDone(world, 'deploy'));
  const silent = world.machines.at(-1)!;
  silent.isHeard = false;
  world.delete();
  await settle(world, () => world.instance?.status?.allowedActions?.some(({ action }) => action === 'force-delete') === true);
  for (let round = 0; round < 5; round++) {
    world.work();
    await reconcile(world);
  }
  world.ask('force-delete');
  await settle(world, () => world.instance === undefined);
  expect(operation(world, 'decommission')?.residues).toMatchObject([{ node: silent.name }]);
});

test('a plan is shown in parts, none of which is kept', async () => {
  const world = start();
  await settle(world, isDone(world, 'deploy'));
  const shown: string[] = [];
  for (const skipped of [0, 512, 1024]) {
    const name = world.askPlan('reconcile', skipped);
    await reconcile(world);
    const { status } = world.operations.get(name)!;
    expect(status).toMatchObject({ state: 'succeeded', progress: { completed: 0, total: 1201 } });
    shown.push(...status!.steps!.map(({ id }) => id));
  }
  expect([shown.length, new Set(shown).size]).toEqual([1201, 1201]);
  expect(operation(world, 'deploy')?.progress).toEqual({ completed: 1201, total: 1201 });
});

test('the schema of operations has the same limit', () => {
  expect(JSON.stringify(appOperationKind)).toContain(`"maxItems":${mostShown}`);
});

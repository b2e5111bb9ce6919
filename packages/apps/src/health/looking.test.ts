import type { NodeTask } from '@capstan/api';
import { expect, test } from 'vitest';
import { decide } from '../instances/decide.ts';
import { AppWorld } from '../testing/world.ts';

async function reconcile(world: AppWorld): Promise<void> {
  world.restart();
  for (let step = decide(world.scene()!); step.kind !== 'wait'; step = decide(world.scene()!)) await world.perform(step);
}

async function deployed(): Promise<AppWorld> {
  const world = new AppWorld(['a', 'b'], { leader_allocation_id: 'a', follower_allocation_ids: ['b'] });
  for (let round = 0; round < 20; round++) {
    world.now += 6_000;
    world.work();
    await reconcile(world);
  }
  expect(world.instance?.status).toMatchObject({ state: 'running', health: 'healthy' });
  return world;
}

const probesIn = (world: AppWorld): NodeTask['spec'][] =>
  [...world.tasks.values()].flatMap(({ spec }) => (spec.processRun?.script === 'pair-probe' ? [spec] : []));

test.each([
  ['whose script an upgrade has changed', { sha256: 'e'.repeat(64) }],
  ['whose arguments the instance has changed', { arguments: ['more'] }],
])('a probe %s is run at once as it is now', async (_, change) => {
  const world = await deployed();
  await reconcile(world);
  const before = probesIn(world).map(({ attempt }) => attempt);
  world.probe = { ...world.probe, ...change };
  await reconcile(world);
  expect(probesIn(world)).toMatchObject(before.map((attempt) => ({ attempt: attempt + 1, processRun: change })));
  world.work();
  await reconcile(world);
  expect(probesIn(world).map(({ attempt }) => attempt)).toEqual(before.map((attempt) => attempt + 1));
  expect(world.instance?.status).toMatchObject({ health: 'healthy' });
});

import { expect, test } from 'vitest';
import { decide } from '../instances/decide.ts';
import { AppWorld } from '../testing/world.ts';

/** Lets machines work and decides, until there is nothing to do but wait. */
async function rounds(world: AppWorld, count = 12): Promise<void> {
  for (let round = 0; round < count; round++) {
    world.now += 6_000;
    world.work();
    world.restart();
    for (let step = decide(world.scene()!); step.kind !== 'wait'; step = decide(world.scene()!)) await world.perform(step);
  }
}

async function deployed(): Promise<AppWorld> {
  const world = new AppWorld(['a', 'b'], { leader_allocation_id: 'a' });
  await rounds(world);
  expect(world.instance!.status).toMatchObject({ state: 'running', health: 'healthy' });
  return world;
}

const leaderOf = (world: AppWorld): string => [...world.members.keys()][0]!;

test.each([
  ['an operation of its app', 'wave'],
  ['a repair', 'repair'],
])('stays as healthy as it looks after %s that has failed', async (_, type) => {
  const world = await deployed();
  world.machines[0]!.broken.set('pair-hello', { retryable: false });
  world.ask(type, leaderOf(world));
  await rounds(world);
  expect(world.instance!.status).toMatchObject({
    health: 'healthy',
    lastOperation: { type, state: 'failed' },
    lastErrors: [{ code: 'CommandFailed' }],
  });
  expect(world.instance!.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
});

test('is degraded as long as a change that has failed leaves it other than it is wished', async () => {
  const world = await deployed();
  world.machines[0]!.broken.set('pair-hello', { retryable: false });
  world.change({ parameters: { greeting: 'good evening' } as never });
  await rounds(world);
  expect(world.instance!.status).toMatchObject({ health: 'degraded', lastOperation: { type: 'change', state: 'failed' } });
  world.machines[0]!.broken.clear();
  world.ask('retry');
  await rounds(world);
  expect(world.instance!.status).toMatchObject({ health: 'healthy' });
});

test('has no problems on its list once they are acknowledged, also while an operation waits for a person', async () => {
  const world = await deployed();
  world.machines[0]!.broken.set('pair-hello', { retryable: false });
  world.change({ parameters: { careful: true } as never });
  await rounds(world);
  expect(world.instance!.status).toMatchObject({ health: 'degraded', lastOperation: { state: 'needs_intervention' } });
  expect(world.instance!.status?.lastErrors).toHaveLength(1);
  world.ask('acknowledge');
  await rounds(world);
  expect(world.instance!.status?.lastErrors).toBeUndefined();
  expect(world.instance!.status?.lastOperation).toMatchObject({ type: 'change', state: 'needs_intervention' });
  world.machines[0]!.broken.clear();
  world.ask('resume');
  await rounds(world);
  expect(world.instance!.status).toMatchObject({ health: 'healthy', lastOperation: { type: 'change', state: 'succeeded' } });
});

import { describe, expect, test } from 'vitest';
import { decide } from '../instances/decide.ts';
import { AppWorld } from '../testing/world.ts';

/** Lets machines work and decides, until there is nothing to do but wait. */
async function rounds(world: AppWorld, count = 10): Promise<void> {
  for (let round = 0; round < count; round++) {
    world.now += 6_000;
    world.work();
    world.restart();
    for (let step = decide(world.scene()!); step.kind !== 'wait'; step = decide(world.scene()!)) await world.perform(step);
  }
}

const told = (world: AppWorld): string[] => [...world.operations.values()].map(({ spec, status }) => `${spec.type} ${status?.state}`);
const leaderOf = (world: AppWorld): string => [...world.members.values()].find(({ spec }) => spec.component === 'leader')!.metadata.name!;

/** An instance whose first step on the leader fails for good. */
async function stuck(parameters: object): Promise<AppWorld> {
  const world = new AppWorld(['a', 'b'], { leader_allocation_id: 'a', follower_allocation_ids: ['b'] });
  world.change({ parameters: parameters as never });
  world.machines[0]!.broken.set('pair-hello', { retryable: false });
  await rounds(world);
  return world;
}

describe('a deployment that needs a person', () => {
  test('ends when they ask for a repair, and goes on by itself after it', async () => {
    const world = await stuck({ careful: true });
    expect(told(world)).toEqual(['deploy needs_intervention']);
    expect(world.instance!.status?.allowedActions).toContainEqual(expect.objectContaining({ action: 'repair', member: leaderOf(world) }));
    world.machines[0]!.broken.clear();
    world.ask('repair', leaderOf(world));
    await rounds(world);
    expect(told(world)).toEqual(['deploy failed', 'repair succeeded', 'deploy succeeded']);
    expect([...world.operations.values()][0]!.status?.message).toMatch(/; the repair repair-\d+ takes its place$/);
    expect(world.instance!.status).toMatchObject({ state: 'running', health: 'healthy', members: { total: 2, healthy: 2 } });
  });

  test('goes on to wait if the repair is refused', async () => {
    const world = await stuck({ careful: true });
    world.ask('repair', 'nobody');
    await rounds(world);
    expect(told(world)).toEqual(['deploy needs_intervention', 'repair failed']);
    expect(world.instance!.status?.lastOperation).toMatchObject({ type: 'deploy', state: 'needs_intervention' });
  });
});

describe.each([
  ['failed', undefined],
  ['cancelled', 'cancel'],
])('a deployment that was %s', (state, asks) => {
  test('begins again after a repair that has succeeded, and not after one that has failed', async () => {
    const world = await stuck({ careful: asks !== undefined });
    if (asks !== undefined) world.ask(asks);
    await rounds(world);
    expect(told(world)[0]).toBe(`deploy ${state}`);
    world.ask('repair', leaderOf(world));
    await rounds(world);
    expect(told(world).filter((one) => one.startsWith('deploy') || one.startsWith('repair'))).toHaveLength(2);
    world.machines[0]!.broken.clear();
    world.ask(asks === undefined ? 'retry' : 'resume');
    await rounds(world);
    expect(told(world).at(-1)).toBe('deploy succeeded');
    expect(world.instance!.status).toMatchObject({ state: 'running', health: 'healthy' });
  });
});

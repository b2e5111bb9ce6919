import type { AppMember } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { decide } from '../instances/decide.ts';
import { AppWorld } from '../testing/world.ts';

const at = (time: number): string => new Date(time).toISOString();

/** Lets the controller and the agents work until there is nothing to do but wait. Returns how long. */
async function settle(world: AppWorld): Promise<number | undefined> {
  for (let steps = 0; steps < 400; steps++) {
    const step = decide(world.scene()!);
    if (step.kind !== 'wait') await world.perform(step);
    else if ([...world.tasks.values()].every((task) => task.status?.attempt === task.spec.attempt)) return step.atMost;
    else {
      world.work();
      world.restart();
    }
  }
  throw new Error('the world does not settle');
}

async function deployed(): Promise<AppWorld> {
  const world = new AppWorld(['a'], { leader_allocation_id: 'a' });
  await settle(world);
  expect(world.instance?.status).toMatchObject({ state: 'running', health: 'healthy' });
  return world;
}

const memberOf = (world: AppWorld): AppMember => [...world.members.values()][0]!;

function report(world: AppWorld, seconds: number): void {
  const said = { source: 'account', reportedAt: at(world.now), expiresAt: at(world.now + seconds * 1_000) };
  world.instance = { ...world.instance!, status: { ...world.instance!.status, reported: { phase: 'odd', ...said } } };
  const member = memberOf(world);
  world.members.set(member.metadata.name!, { ...member, status: { ...member.status, reported: { healthy: false, ...said } } });
}

describe('reports in the status', () => {
  test('stay as they are until they expire, and change neither phase nor health', async () => {
    const world = await deployed();
    report(world, 5);
    expect(await settle(world)).toBeLessThanOrEqual(5_000);
    expect(world.instance?.status).toMatchObject({ phase: 'ready', health: 'healthy', reported: { phase: 'odd' } });
    expect(memberOf(world).status).toMatchObject({ health: 'healthy', reported: { healthy: false } });
  });

  test('are removed when they have expired', async () => {
    const world = await deployed();
    report(world, 5);
    await settle(world);
    world.now += 5_000;
    world.restart();
    await settle(world);
    expect(world.instance?.status?.reported).toBeUndefined();
    expect(memberOf(world).status?.reported).toBeUndefined();
    expect(memberOf(world).status).toMatchObject({ health: 'healthy', state: 'running' });
  });
});

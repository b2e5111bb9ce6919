import { describe, expect, test } from 'vitest';
import { decide } from '../instances/decide.ts';
import { AppWorld } from '../testing/world.ts';

const [leader, broken] = ['a', 'b'];

/** Decides until there is nothing to do but wait. */
async function reconcile(world: AppWorld): Promise<void> {
  world.begin();
  for (let step = decide(world.scene()!); step.kind !== 'wait'; step = decide(world.scene()!)) await world.perform(step);
}

/** Half a minute, in which each probe runs once. */
async function look(world: AppWorld): Promise<void> {
  world.now += 30_000;
  await reconcile(world);
  world.work();
  await reconcile(world);
}

async function deployed(): Promise<AppWorld> {
  const world = new AppWorld(['a', 'b', 'c'], { leader_allocation_id: leader, follower_allocation_ids: [broken, 'c'] });
  for (let round = 0; round < 20 && world.instance?.status?.health !== 'healthy'; round++) await look(world);
  expect(world.instance?.status).toMatchObject({ state: 'running', health: 'healthy' });
  return world;
}

const failures = (world: AppWorld): number | undefined =>
  [...world.members.values()].find(({ spec }) => spec.node === broken)!.status?.failedProbes;
const repairs = (world: AppWorld): number => [...world.operations.values()].filter(({ spec }) => spec.type === 'repair').length;
const breakIt = (world: AppWorld, answer: string): void => void (world.machines.find(({ name }) => name === broken)!.probe = answer);

describe('a member that fails', () => {
  test('is repaired after three failed probes in a row', async () => {
    const world = await deployed();
    breakIt(world, 'dead');
    const seen: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      await look(world);
      seen.push([failures(world), repairs(world)]);
    }
    expect(seen.slice(0, 2)).toEqual([
      [1, 0],
      [2, 0],
    ]);
    expect(repairs(world)).toBe(1);
  });

  test('is not repaired if a probe in between succeeds', async () => {
    const world = await deployed();
    for (const answer of ['dead', 'dead', 'ok', 'dead', 'dead', 'ok']) {
      breakIt(world, answer);
      await look(world);
    }
    expect([failures(world), repairs(world)]).toEqual([undefined, 0]);
  });

  test('counts a probe once, however often members are looked at', async () => {
    const world = await deployed();
    breakIt(world, 'dead');
    await look(world);
    const status = { ...world.instance!.status!, observedAt: new Date(0).toISOString() };
    for (let round = 0; round < 5; round++) {
      world.instance = { ...world.instance!, status };
      await reconcile(world);
    }
    expect([failures(world), repairs(world)]).toEqual([1, 0]);
  });

  test('keeps its count while the probes of others end and its own runs', async () => {
    const world = await deployed();
    breakIt(world, 'dead');
    await look(world);
    await look(world);
    expect([failures(world), repairs(world)]).toEqual([2, 0]);
    const machine = world.machines.find(({ name }) => name === broken)!;
    machine.isBusy = true;
    await look(world);
    expect([failures(world), repairs(world)]).toEqual([2, 0]);
    machine.isBusy = false;
    await look(world);
    expect(repairs(world)).toBe(1);
  });

  test('is repaired though it is the only one', async () => {
    const world = new AppWorld([broken], { leader_allocation_id: broken });
    for (let round = 0; round < 20 && world.instance?.status?.health !== 'healthy'; round++) await look(world);
    breakIt(world, 'dead');
    for (let round = 0; round < 3; round++) await look(world);
    expect(repairs(world)).toBe(1);
  });

  test('is repaired as early as its App says', async () => {
    const world = await deployed();
    Object.assign(world.app.spec, { repairAfterProbes: 1 });
    breakIt(world, 'dead');
    await look(world);
    expect(repairs(world)).toBe(1);
  });
});

test('a member is as it was while its next probe runs', async () => {
  const world = await deployed();
  const machine = world.machines.find(({ name }) => name === broken)!;
  const seen = new Set<unknown>();
  for (let round = 0; round < 6; round++) {
    machine.isBusy = round % 2 === 0;
    await look(world);
    seen.add(world.instance?.status?.health);
    seen.add([...world.members.values()].find(({ spec }) => spec.node === broken)!.status?.health);
  }
  expect([...seen]).toEqual(['healthy']);
});

import { HostNetwork } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCell, steps } from './cell.ts';
import { faults } from './faults.ts';
import { isWrong } from './table.ts';
import { World } from './world.ts';

/** Some cells of the table that `npm run faults` makes. */
const rows = [
  ['start', 'agent killed'],
  ['update', 'controllers killed'],
  ['remove', 'network cut'],
] as const;

describeUnless(await HostNetwork.problem(), 'an app in which something goes wrong', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ clock: false });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test.each(rows)('during %s: %s', async (name, words) => {
    const step = steps.find((one) => one.name === name)!;
    const fault = faults.find((one) => one.name === words)!;
    const cell = await runCell(world, step, fault);
    expect(cell, JSON.stringify(cell)).toSatisfy(() => !isWrong(cell));
    expect(cell.outcome).toMatch(/^completed/);
  });
});

import { describe, expect, test } from 'vitest';
import { AppWorld } from '../testing/world.ts';
import { decide } from './decide.ts';
import type { Step } from './step.ts';

const placement = (...followers: string[]) => ({ leader_allocation_id: 'a', follower_allocation_ids: followers });

/** Reconciles until nothing is left to do, killing the controller after the write with this number. */
class Controller {
  readonly steps: Step['kind'][] = [];
  readonly #world: AppWorld;
  readonly #crashAfter: number;

  constructor(world: AppWorld, crashAfter: number) {
    this.#world = world;
    this.#crashAfter = crashAfter;
  }

  async reconcile(): Promise<void> {
    this.#world.restart();
    for (let scene = this.#world.scene(); scene !== undefined; scene = this.#world.scene()) {
      const step = decide(scene);
      if (step.kind === 'wait') return;
      await this.#world.perform(step);
      this.steps.push(step.kind);
      if (this.steps.length === this.#crashAfter) return;
      expect(this.steps.length, `it ends: ${this.steps.slice(-12).join(', ')}`).toBeLessThan(1_000);
    }
  }

  async rounds(count: number): Promise<void> {
    for (let round = 0; round < count; round++) {
      this.#world.now += 6_000;
      this.#world.work();
      await this.reconcile();
    }
  }
}

/** A life of an instance with a failure, a retry, a change, a stop and a removal. */
async function live(crashAfter: number): Promise<{ readonly steps: Step['kind'][]; readonly world: AppWorld }> {
  const world = new AppWorld(['a', 'b', 'c'], placement('b'));
  const controller = new Controller(world, crashAfter);
  const [leader] = world.machines;
  leader!.broken.set('pair-hello', { retryable: false });
  await controller.rounds(8);
  expect(world.instance!.status).toMatchObject({ state: 'failed', lastOperation: { type: 'deploy', state: 'failed' } });
  leader!.broken.clear();
  world.ask('retry');
  await controller.rounds(12);
  expect(world.instance!.status).toMatchObject({ state: 'running', health: 'healthy', phase: 'ready', members: { total: 2, healthy: 2 } });
  world.change({ placement: placement('c') as never });
  await controller.rounds(14);
  expect(world.instance!.status).toMatchObject({
    state: 'running',
    health: 'healthy',
    lastOperation: { type: 'change', state: 'succeeded' },
  });
  expect([...world.members.values()].map(({ spec }) => spec.allocation).sort()).toEqual(['a', 'c']);
  world.change({ stopped: true });
  await controller.rounds(6);
  expect(world.instance!.status).toMatchObject({ state: 'stopped' });
  world.delete();
  await controller.rounds(8);
  expect([world.instance, world.members.size, world.tasks.size, world.operations.size]).toEqual([undefined, 0, 0, 0]);
  return { steps: controller.steps, world };
}

describe('a controller', async () => {
  const { steps, world: undisturbed } = await live(-1);
  const begun = undisturbed.machines.map(({ began }) => began.length);

  test('takes these steps in the life of an instance', () => {
    expect(new Set(steps)).toEqual(
      new Set([
        'protect',
        'askMembers',
        'createMembers',
        'begin',
        'status',
        'operationStatus',
        'plan',
        'start',
        'read',
        'keep',
        'memberStatus',
        'adopt',
        'probe',
        'observe',
        'askAccess',
        'deleteMembers',
        'deleteTasks',
        'forget',
        'deleteOperations',
        'letGo',
      ]),
    );
  });

  test.each(steps.map((step, index) => [index + 1, step] as const))('may be killed after write %d, which is %s', async (count) => {
    const { world } = await live(count);
    for (const { began } of world.machines) expect(new Set(began).size, 'no attempt runs twice').toBe(began.length);
    expect(world.machines.map(({ began }) => began.length)).toEqual(begun);
  });
});

describe('a wait', () => {
  test('for a silent node ends when it is heard, and nothing was destroyed', async () => {
    const world = new AppWorld(['a', 'b'], placement('b'));
    const controller = new Controller(world, -1);
    world.machines[1]!.isHeard = false;
    await controller.rounds(20);
    expect(world.instance!.status).toMatchObject({
      state: 'deploying',
      health: 'progressing',
      message: expect.stringContaining('waits for the node b, which is silent'),
    });
    world.machines[1]!.isHeard = true;
    await controller.rounds(10);
    expect(world.instance!.status).toMatchObject({ state: 'running', health: 'healthy' });
  });

  test('of a paused instance ends with the pause', async () => {
    const world = new AppWorld(['a'], placement());
    world.change({ paused: true });
    const controller = new Controller(world, -1);
    await controller.rounds(4);
    expect([world.instance!.status?.state, world.tasks.size]).toEqual(['pending', 0]);
    expect(world.instance!.status?.constraints?.map(({ reason }) => reason)).toContain('Paused');
    world.change({ paused: false });
    await controller.rounds(8);
    expect(world.instance!.status).toMatchObject({ state: 'running' });
  });

  test('of an operation that the wish has overtaken ends at once', async () => {
    const world = new AppWorld(['a', 'b', 'c'], placement('b'));
    const controller = new Controller(world, -1);
    world.machines[1]!.isHeard = false;
    await controller.rounds(8);
    world.change({ placement: placement('c') as never });
    await controller.rounds(12);
    expect([...world.operations.values()].map(({ spec, status }) => `${spec.type} ${status?.state}`)).toEqual([
      'deploy cancelled',
      'deploy succeeded',
    ]);
    expect(world.instance!.status).toMatchObject({ state: 'running', members: { total: 2 } });
  });
});

describe('retries', () => {
  test('have a budget for each step', async () => {
    const world = new AppWorld(['a'], placement());
    const controller = new Controller(world, -1);
    world.machines[0]!.broken.set('pair-hello', { retryable: true });
    await controller.rounds(3);
    expect(world.instance!.status?.lastOperation).toMatchObject({ state: 'retrying', attempts: 1, attemptLimit: 3 });
    await controller.rounds(10);
    expect(world.instance!.status?.lastOperation).toMatchObject({ state: 'failed' });
    expect(world.instance!.status?.lastErrors).toMatchObject([{ code: 'CommandFailed', output: 'good day\n' }]);
    world.ask('acknowledge');
    await controller.rounds(2);
    expect(world.instance!.status?.lastErrors).toBeUndefined();
    world.ask('retry');
    world.machines[0]!.broken.clear();
    await controller.rounds(8);
    expect(world.instance!.status).toMatchObject({ state: 'running' });
  });

  test('end when somebody cancels the operation', async () => {
    const world = new AppWorld(['a'], placement());
    const controller = new Controller(world, -1);
    world.machines[0]!.broken.set('pair-hello', { retryable: true });
    await controller.rounds(4);
    world.ask('cancel');
    await controller.rounds(4);
    expect(world.instance!.status).toMatchObject({ state: 'failed', lastOperation: { state: 'cancelled' } });
  });
});

describe('an allocation that ends', () => {
  test('keeps its node from getting any more tasks', async () => {
    const world = new AppWorld(['a', 'b'], placement('b'));
    const controller = new Controller(world, -1);
    await controller.rounds(12);
    expect(world.instance!.status).toMatchObject({ state: 'running' });
    world.allocations.delete('b');
    const before = world.machines[1]!.began.length;
    world.ask('reconcile');
    await controller.rounds(8);
    expect(world.machines[1]!.began.length).toBe(before);
    expect(world.instance!.status?.lastErrors?.map(({ code }) => code)).toEqual(expect.arrayContaining(['NoAllocation']));
    world.delete();
    await controller.rounds(8);
    expect(world.instance).toBeUndefined();
    const [record] = [...world.operations.values()];
    expect(record?.status?.residues).toMatchObject([{ node: 'b' }]);
  });
});

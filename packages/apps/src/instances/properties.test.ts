import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppWorld } from '../testing/world.ts';
import { decide } from './decide.ts';

const nodes = ['a', 'b', 'c', 'd'];

type Happening =
  | { readonly kind: 'work' | 'restart' | 'pause' | 'stop' }
  | { readonly kind: 'silence' | 'break' | 'end'; readonly node: number }
  | { readonly kind: 'place'; readonly followers: readonly number[] }
  | { readonly kind: 'ask'; readonly type: string }
  | { readonly kind: 'time'; readonly minutes: number };

const node = fc.integer({ min: 0, max: nodes.length - 1 });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('work' as const, 'restart' as const, 'pause' as const, 'stop' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('silence' as const, 'break' as const), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), node }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('place' as const), followers: fc.subarray([1, 2, 3]) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      type: fc.constantFrom('retry', 'resume', 'cancel', 'acknowledge', 'reconcile', 'repair', 'wave', 'force-delete', 'deploy', 'dance'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('time' as const), minutes: fc.integer({ min: 1, max: 20 }) }) },
);

const placement = (followers: readonly number[]) => ({
  leader_allocation_id: 'a',
  follower_allocation_ids: followers.map((one) => nodes[one]!),
});

async function reconcile(world: AppWorld): Promise<void> {
  world.restart();
  const steps: string[] = [];
  for (let scene = world.scene(); scene !== undefined; scene = world.scene()) {
    const step = decide(scene);
    if (step.kind === 'wait') return;
    steps.push(step.kind);
    if (steps.length > 300) throw new Error(`a reconcile does not end: ${steps.slice(-8).join(', ')}`);
    if (step.kind === 'start')
      for (const { node: name } of step.starts) expect(world.allocations.has(name), `a task for ${name}, which nobody has`).toBe(true);
    await world.perform(step);
  }
}

function happen(world: AppWorld, one: Happening): void {
  const { instance, machines } = world;
  if (instance === undefined) return;
  switch (one.kind) {
    case 'work':
      return world.work();
    case 'restart':
      return world.restart();
    case 'pause':
      return world.change({ paused: !instance.spec.paused });
    case 'stop':
      return world.change({ stopped: !instance.spec.stopped });
    case 'silence':
      machines[one.node]!.isHeard = !machines[one.node]!.isHeard;
      return;
    case 'break': {
      const { broken } = machines[one.node]!;
      if (broken.size > 0) broken.clear();
      else broken.set(one.node % 2 === 0 ? 'pair-hello' : 'file.write', { retryable: one.node < 2 });
      return;
    }
    case 'end':
      world.allocations.delete(nodes[one.node]!);
      return;
    case 'place':
      return world.change({ placement: placement(one.followers) as never });
    case 'ask': {
      const [member] = world.members.keys();
      return world.ask(one.type, one.type === 'repair' || one.type === 'wave' ? member : undefined);
    }
    case 'time':
      world.now += one.minutes * 60_000;
  }
}

describe('whatever happens', () => {
  test('reconciles end, attempts run once on nodes of the tenant, one operation runs at a time, and the instance can be deleted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 30 }), async (happenings) => {
        const world = new AppWorld(nodes, placement([1]));
        for (const one of happenings) {
          world.now += 3_000;
          happen(world, one);
          await reconcile(world);
          const running = [...world.operations.values()].filter(({ status }) =>
            (status?.steps ?? []).some(({ state }) => state === 'running'),
          );
          expect(running.length).toBeLessThan(2);
        }
        for (const machine of world.machines) {
          machine.broken.clear();
          machine.isHeard = true;
        }
        world.delete();
        for (let round = 0; round < 60 && world.instance !== undefined; round++) {
          world.now += 400_000;
          world.work();
          if (world.instance.status?.allowedActions?.some(({ action }) => action === 'retry')) world.ask('retry');
          await reconcile(world);
        }
        expect(world.instance?.status?.message).toBeUndefined();
        expect([world.instance, world.members.size, world.tasks.size]).toEqual([undefined, 0, 0]);
        for (const { began } of world.machines) expect(new Set(began).size).toBe(began.length);
      }),
      { numRuns: 150 },
    );
  });
});

import { describe, expect, test } from 'vitest';
import { decide, type Step } from './decide.ts';
import { unitWith } from './testing/unit.ts';
import { Gone, Machine, UnitWorld } from './testing/world.ts';

/** The writes of a step that come at the same time, one of which was not made. */
function halfOf(step: Step, half: 'status' | 'allocation'): Step {
  if (step.kind !== 'allocate' || step.status === undefined) return step;
  return half === 'status' ? { kind: 'status', status: step.status } : { kind: 'allocate', allocation: step.allocation };
}

/** A life of a unit on two nodes, in which the controller is killed after so many of its steps, or in the middle of one. Returns the steps that it took. */
function live(crashAfter: number, half?: 'status' | 'allocation'): { readonly steps: Step['kind'][]; readonly world: UnitWorld } {
  const machines = ['a', 'b', 'c', 'd'].map((name) => new Machine(name, 1));
  const world = new UnitWorld(unitWith({ nodes: 2 }), machines);
  const steps: Step['kind'][] = [];
  const reconcile = (): void => {
    world.beginReconcile();
    for (let scene = world.scene(); scene !== undefined; scene = world.scene()) {
      const step = decide(scene);
      if (step.kind === 'wait') return;
      try {
        world.perform(half !== undefined && steps.length + 1 === crashAfter ? halfOf(step, half) : step);
      } catch (error) {
        if (error instanceof Gone) return;
        throw error;
      }
      steps.push(step.kind);
      if (steps.length === crashAfter) world.restartController();
      expect(steps.length).toBeLessThan(100);
    }
  };
  const rounds = (count: number): void => {
    for (let round = 0; round < count; round++) {
      world.now += 1_000;
      for (const machine of machines) {
        world.work(machine);
        world.clean(machine);
        world.work(machine);
      }
      world.judge();
      world.schedule();
      world.syncCopies();
      reconcile();
      expect(new Set(world.live().map(({ run }) => run)).size).toBeLessThan(2);
    }
  };
  rounds(6);
  expect(world.live()).toMatchObject([{ run: 1 }, { run: 1 }]);
  world.change({ command: ['false'] });
  rounds(6);
  expect(world.live()).toMatchObject([{ run: 2 }, { run: 2 }]);
  machines[0]!.switchOff();
  machines[0]!.isLost = true;
  rounds(8);
  expect(world.live()).toMatchObject([{ run: 3 }, { run: 3 }]);
  world.change({ running: false });
  rounds(6);
  expect([world.live(), world.stored.unit!.status!.phase, world.stored.allocations.size, world.stored.nodeUnits.size]).toEqual([
    [],
    'Stopped',
    0,
    0,
  ]);
  world.change({ running: true });
  rounds(6);
  expect(world.live()).toMatchObject([{ run: 4 }, { run: 4 }]);
  world.deleteUnit();
  rounds(6);
  expect([world.live(), world.stored.unit, world.stored.allocations.size, world.stored.nodeUnits.size]).toEqual([[], undefined, 0, 0]);
  return { steps, world };
}

describe('a controller', () => {
  const { steps } = live(-1);

  test('takes these steps in the life of a unit', () => {
    expect(steps.slice(0, 5)).toEqual(['allocate', 'protect', 'status', 'start', 'status']);
    expect(new Set(steps)).toEqual(new Set(['protect', 'status', 'allocate', 'start', 'stop', 'look', 'remove', 'release', 'letGo']));
  });

  test.each(steps.map((step, index) => [index + 1, step] as const))('may be killed after write %d, which is %s', (count) => {
    const { world } = live(count);
    // Every start had one start on each of its nodes, and none was made twice.
    expect(world.starts).toBe(8);
  });

  const orders = steps.flatMap((step, index) => (step === 'allocate' ? [index + 1] : []));
  test.each(orders.flatMap((count) => [[count, 'status'] as const, [count, 'allocation'] as const]))(
    'may be killed during step %d, when only the %s was written',
    (count, half) => {
      expect(live(count, half).world.starts).toBe(8);
    },
  );
});

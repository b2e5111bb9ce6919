import type { GPUUnit } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { isOver } from './scene.ts';
import { unitWith } from './testing/unit.ts';
import { Gone, Machine, UnitWorld } from './testing/world.ts';

const minute = 60_000;

const of = <K extends string, R extends object>(
  weight: number,
  kinds: readonly K[],
  rest: { [F in keyof R]: fc.Arbitrary<R[F]> } = {} as never,
) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constantFrom(...kinds), ...rest }) as unknown as fc.Arbitrary<{ readonly kind: K } & R>,
});
const crashAfter = fc.option(fc.nat(8), { freq: 3 });
const machine = fc.nat(3);

const event = fc.oneof(
  // Everybody does their work, in this order; faults come in between.
  of(24, ['beat'], { crashAfter }),
  of(10, ['reconcile'], { crashAfter }),
  of(10, ['work', 'connect'], { machine }),
  of(8, ['cut'], { machine }),
  of(12, ['sync', 'schedule', 'sweep', 'lag']),
  of(12, ['pass'], { time: fc.constantFrom(1_000, 50_000, 250_000, 6 * minute) }),
  of(6, ['clean', 'reboot'], { machine }),
  of(1, ['lose'], { machine }),
  of(2, ['fail', 'complete'], { machine }),
  of(8, ['start', 'start', 'stop', 'edit'], { number: fc.nat(9) }),
  of(1, ['delete', 'rob']),
  of(8, ['stock'], { stock: fc.constantFrom('none' as const, 'ready' as const, 'breaks' as const) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

class Run {
  readonly world: UnitWorld;
  /** How often something runs while a NodeUnit of an earlier start is on a silent node. */
  elsewhere = 0;

  constructor(spec: Partial<GPUUnit['spec']>) {
    this.world = new UnitWorld(unitWith(spec), [new Machine('a', 1), new Machine('b', 0.95), new Machine('c', 1.05), new Machine('d', 1)]);
  }

  take(one: Event): void {
    const { world } = this;
    const target = world.machines['machine' in one ? one.machine : 0]!;
    switch (one.kind) {
      case 'beat':
        for (const each of world.machines) world.work(each);
        world.judge();
        world.schedule();
        world.syncCopies();
        this.reconcile(one.crashAfter ?? undefined);
        break;
      case 'reconcile':
        this.reconcile(one.crashAfter ?? undefined);
        break;
      case 'work':
        world.work(target);
        break;
      case 'cut':
        target.isConnected = false;
        break;
      case 'connect':
        target.isConnected = target.isOn && !target.isLost;
        break;
      case 'sync':
        world.syncCopies();
        break;
      case 'lag':
        world.lag();
        break;
      case 'schedule':
        world.schedule();
        break;
      case 'pass':
        world.now += one.time;
        for (const each of world.machines) each.fence(world.now);
        world.judge();
        break;
      case 'clean':
        world.clean(target);
        break;
      case 'reboot':
        target.switchOff();
        target.switchOn();
        break;
      case 'lose':
        // An owner declares it only of a machine that is off.
        target.switchOff();
        target.isLost = true;
        break;
      case 'fail':
      case 'complete':
        world.exit(target, one.kind === 'fail' ? 1 : 0);
        break;
      case 'start':
      case 'stop':
        world.change({ running: one.kind === 'start' });
        break;
      case 'edit':
        world.change({ command: [String(one.number)] });
        break;
      case 'delete':
        world.deleteUnit();
        break;
      case 'rob':
        for (const name of [...world.stored.allocations.keys()]) world.deleteAllocation(name);
        break;
      case 'sweep':
        world.sweep();
        break;
      case 'stock':
        world.stock = one.stock;
        break;
    }
    this.check(one);
  }

  /** A reconcile, and a crash after some of its steps. */
  reconcile(crashAfter?: number): void {
    const { world } = this;
    world.beginReconcile();
    for (let steps = 0; steps < 50; steps++) {
      if (steps === crashAfter) return world.restartController();
      const scene = world.scene();
      if (scene === undefined) return;
      const step = decide(scene);
      if (step.kind === 'wait') return;
      try {
        world.perform(step);
      } catch (error) {
        if (error instanceof Gone) return;
        throw error;
      }
      this.check(step);
    }
    throw new Error('the reconcile does not end');
  }

  /** At most one start has live programs, and everything that runs was booked by its own unit. */
  check(after: object): void {
    const live = this.world.live();
    if (new Set(live.map(({ run }) => run)).size > 1)
      throw new Error(`two starts run after ${JSON.stringify(after)}: ${JSON.stringify(live)}`);
    const oldest = Math.min(...[...this.world.stored.nodeUnits.values()].map(({ spec }) => spec.run));
    if (live.some(({ run }) => run > oldest)) this.elsewhere++;
    for (const { node, allocation } of live) {
      const entries = this.world.bookings.get(node) ?? [];
      if (!entries.some((entry) => (entry.allocation.uid as string) === allocation))
        throw new Error(`${node} runs something that is not booked`);
    }
  }

  settle(): void {
    const { world } = this;
    if (world.isLagging) world.lag();
    for (const machine of world.machines)
      if (!machine.isLost) {
        machine.switchOn();
        machine.isConnected = true;
      }
    for (let round = 0; round < 40; round++) {
      world.now += 1_000;
      for (const machine of world.machines) {
        world.work(machine);
        world.clean(machine);
      }
      world.judge();
      world.schedule();
      world.sweep();
      world.syncCopies();
      this.reconcile();
      this.check({ kind: 'settle' });
    }
  }
}

describe.each<[string, Partial<GPUUnit['spec']>]>([
  ['that waits for its node', {}],
  ['that is fenced', { onNodeLoss: 'Fence', fenceAfter: '5m' }],
  ['that is restarted', { restartPolicy: 'OnFailure' }],
  ['on two nodes', { nodes: 2, onNodeLoss: 'Fence', fenceAfter: '1m' }],
])('a unit %s', (_, spec) => {
  test('never runs twice at once, whatever crashes, falls silent or comes back', () => {
    const seen = { starts: 0, again: 0, elsewhere: 0 };
    fc.assert(
      fc.property(fc.array(event, { minLength: 20, maxLength: 120, size: 'max' }), (events) => {
        const run = new Run(spec);
        for (const one of events) run.take(one);
        seen.starts += run.world.starts;
        if ((run.world.stored.unit?.status?.run ?? 0) > 1) seen.again++;
        seen.elsewhere += run.elsewhere;
        run.settle();
        expectSettled(run.world);
      }),
      { numRuns: 400 },
    );
    expect(seen.starts).toBeGreaterThan(200);
    expect(seen.again).toBeGreaterThan(50);
    if (spec.onNodeLoss === 'Fence') expect(seen.elsewhere).toBeGreaterThan(20);
  });
});

/** Everything that was asked for has happened, and nothing is left of the rest. */
function expectSettled(world: UnitWorld): void {
  const { unit, allocations, nodeUnits } = world.stored;
  const usable = world.machines.filter(({ isLost }) => !isLost).length;
  if (unit === undefined || isOver(unit.status)) {
    expect([world.live(), [...nodeUnits.keys()], [...allocations.keys()]]).toEqual([[], [], []]);
    return;
  }
  expect(unit.metadata.deletionTimestamp).toBeUndefined();
  const { nodes } = unit.spec;
  // On some of its nodes the program may have completed already.
  const done = unit.status?.members?.filter(({ phase }) => phase === 'Ended').length ?? 0;
  expect([unit.status?.phase, world.live().length + done]).toEqual(usable >= nodes ? ['Running', nodes] : ['Pending', 0]);
}

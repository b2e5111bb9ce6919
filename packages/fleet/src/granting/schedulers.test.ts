import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlacementRequest } from '../placement/request.ts';
import { ask, makeNode } from '../placement/testing.ts';
import { attemptsIn, stateOn } from './attempt.ts';
import { cleanings, type Intent, intents, verdictIn, World } from './testing.ts';

const nodes = ['n0', 'n1', 'n2', 'n3'].map((name) => makeNode(name, { gpus: 3, cpu: 4 }));
const schedulers = 3;
/** The last one is the controller that cleans. */
const parties = schedulers + 1;

const request = fc.oneof(
  fc
    .record({ count: fc.integer({ min: 1, max: 3 }), nodes: fc.constantFrom(1, 2, 2, 3), cpu: fc.nat(2) })
    .map(({ count, nodes: number, cpu }) => ask(count, { nodes: number, cpu })),
  fc
    .constantFrom(1, 2)
    .map((number): PlacementRequest => ({ nodes: number, strategy: 'pack', size: { kind: 'node', gpu: { model: 'H100' }, count: 1 } })),
);

/** `look`: decide on one of the possible writes. `write`: do it, however old the decision is. `crash`: forget it. */
type Event =
  | { readonly do: 'look' | 'write' | 'crash'; readonly who: number; readonly choice: number }
  | { readonly do: 'create'; readonly request: PlacementRequest }
  | { readonly do: 'delete' | 'destroy' | 'agent' | 'fail' | 'retry'; readonly choice: number };

const choice = fc.nat(1_000);
const who = fc.nat(parties - 1);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ do: fc.constant('look' as const), who, choice }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('write' as const), who, choice }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), who, choice }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('create' as const), request }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), choice }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('agent' as const), choice }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('destroy' as const), choice }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('fail' as const, 'retry' as const), choice }) },
);

class Run {
  readonly world = new World(nodes);
  readonly #pending: (Intent | undefined)[] = Array.from({ length: parties }, () => undefined);
  #attempts = 0;
  writes = 0;
  conflicts = 0;
  gangs = 0;
  rivals = 0;
  cleaned = 0;
  failures = 0;

  take(one: Event): void {
    if (one.do === 'create') this.world.create(one.request);
    else if (one.do === 'look') this.#pending[one.who] = this.#pick(this.#intents(one.who), one.choice);
    else if (one.do === 'crash') this.#pending[one.who] = undefined;
    else if (one.do === 'write') this.#write(one.who);
    else this.#user(one.do, one.choice);
    this.world.collect();
    this.check();
  }

  /** One scheduler, the controller that cleans and the agents work until there is nothing left to do. */
  settle(): void {
    for (let round = 0; round < 1_000; round++) {
      this.#endAll();
      const [next] = [...this.#intents(0), ...this.#intents(schedulers)];
      if (next === undefined) return;
      if (!next()) throw new Error('a write without a rival failed');
      this.world.collect();
      this.check();
    }
    throw new Error('the scheduler does not come to rest');
  }

  deleteAll(): void {
    for (const uid of this.world.allocations.keys()) this.world.delete(uid);
    this.world.collect();
  }

  /** Runs after every event, so it is lean. */
  check(): void {
    for (const { name, cpu } of nodes) {
      const { entries } = this.world.bookings.get(name)!.value;
      const devices = entries.flatMap((entry) => entry.devices);
      if (new Set(devices).size < devices.length) throw new Error(`a device of ${name} is booked twice`);
      if (entries.reduce((sum, entry) => sum + entry.cpu, 0) > cpu) throw new Error(`too much cpu of ${name} is booked`);
      if (entries.length > 1 && entries.some(({ exclusive }) => exclusive)) throw new Error(`${name} is not left to one`);
    }
    for (const [uid, { value }] of this.world.allocations) {
      const { attempt, parts = [] } = value.status ?? {};
      if (attempt === undefined || value.metadata!.deletionTimestamp !== undefined) continue;
      for (const { node, devices } of parts) {
        const { entries } = this.world.bookings.get(node)!.value;
        const entry = entries.find((one) => one.allocation.uid === uid && one.attempt === attempt);
        if (entry?.state !== 'Granted' || !devices.every((uuid) => entry.devices.includes(uuid)))
          throw new Error(`${uid} is active without its devices on ${node}`);
      }
    }
  }

  attempts(): ReturnType<typeof attemptsIn> {
    return attemptsIn(this.world.bookings.entries().map(([node, { value }]) => [node, value] as const));
  }

  #intents(index: number): Intent[] {
    if (index === schedulers) return cleanings(this.world);
    return intents(this.world, { newAttempt: () => `try-${++this.#attempts}`, nodes: nodes.slice(index % 2) });
  }

  #write(index: number): void {
    const intent = this.#pending[index];
    this.#pending[index] = undefined;
    if (intent === undefined) return;
    if (intent()) this.writes++;
    else this.conflicts++;
    const attempts = this.attempts();
    this.gangs = Math.max(this.gangs, attempts.filter(({ parts }) => parts.length > 1).length);
    this.rivals = Math.max(this.rivals, attempts.length - new Set(attempts.map(({ allocation }) => allocation.uid)).size);
  }

  #user(what: 'delete' | 'destroy' | 'agent' | 'fail' | 'retry', number: number): void {
    if (what === 'delete' || what === 'destroy') {
      const uid = this.#pick([...this.world.allocations.keys()], number);
      if (uid !== undefined) this.world[what](uid);
      return;
    }
    const task = this.#pick(this.#tasks(what === 'retry' ? 'Failed' : undefined), number);
    if (task === undefined) return;
    if (what === 'retry') this.world.retryTask(task.node, task.name);
    else this.world.endTask(task.node, task.name, what === 'fail' ? 'Failed' : 'Succeeded');
    if (what === 'fail') this.failures++;
    if (what === 'agent') this.cleaned++;
  }

  #tasks(phase: 'Failed' | undefined): { node: string; name: string }[] {
    return [...this.world.tasks].flatMap(([node, tasks]) =>
      [...tasks].filter(([, { status }]) => status?.phase === phase).map(([name]) => ({ node, name })),
    );
  }

  /** People try again until everything is clean. */
  #endAll(): void {
    for (const phase of ['Failed', undefined] as const)
      for (const { node, name } of this.#tasks(phase)) this.world.endTask(node, name, 'Succeeded');
  }

  #pick<Value>(values: readonly Value[], number: number): Value | undefined {
    return values[number % (values.length || 1)];
  }
}

describe('several schedulers that crash', () => {
  it('never book a device twice or before it is clean, lose nothing, and complete gangs or leave nothing of them', () => {
    const seen = { writes: 0, conflicts: 0, gangs: 0, rivals: 0, cleaned: 0, failures: 0 };
    fc.assert(
      fc.property(fc.array(event, { minLength: 40, maxLength: 240, size: 'max' }), (events) => {
        const run = new Run();
        for (const one of events) run.take(one);
        seen.writes += run.writes;
        seen.conflicts += run.conflicts;
        seen.gangs += run.gangs;
        seen.rivals += run.rivals;
        seen.cleaned += run.cleaned;
        seen.failures += run.failures;
        run.settle();
        for (const attempt of run.attempts()) {
          expect(verdictIn(run.world, attempt)).toBe('chosen');
          expect(attempt.parts.map(({ node }) => stateOn(attempt, node))).toEqual(attempt.parts.map(() => 'Granted'));
        }
        run.deleteAll();
        run.settle();
        expect(run.attempts()).toEqual([]);
        expect(run.world.allocations.size).toBe(0);
      }),
      { numRuns: 400 },
    );
    // The events lead somewhere: without conflicts, gangs and rival attempts the property would say little.
    expect(Math.min(seen.writes, seen.conflicts, seen.gangs)).toBeGreaterThan(100);
    expect(seen.rivals).toBeGreaterThan(10);
    expect(seen.cleaned).toBeGreaterThan(100);
    expect(seen.failures).toBeGreaterThan(10);
  });
});

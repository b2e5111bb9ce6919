import {
  type Allocation,
  asAllocationId,
  type ClockOrigin,
  type UsageAppend,
  type UsageEnd,
  type UsageFact,
  type UsageState,
} from '@capstan/api';
import type { Attempt } from '@capstan/fleet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Ledger } from './ledger-client.ts';
import { SteadyClock } from './steady-clock.ts';
import { HeldBack, Usage } from './usage.ts';

const second = 1_000;
const start = Date.parse('2026-03-01T00:00:00Z');

/** A ledger with the rules of the real one. */
class FakeLedger implements Ledger {
  readonly facts = new Map<string, UsageFact>();
  clock: string | undefined;
  origin: ClockOrigin | undefined;
  /** Fails every request after so many. */
  left = Number.POSITIVE_INFINITY;

  append({ facts, ends, clock, origin }: UsageAppend): Promise<void> {
    this.origin = origin ?? this.origin;
    if (this.left-- <= 0) return Promise.reject(new Error('out of reach'));
    for (const fact of facts) {
      const key = `${fact.uid}.${fact.attempt}.${fact.part}`;
      if (!this.facts.has(key)) this.facts.set(key, fact);
    }
    for (const end of ends) this.#end(end);
    if (this.clock === undefined || clock > this.clock) this.clock = clock;
    return Promise.resolve();
  }

  #end({ uid, end }: UsageEnd): void {
    for (const [key, fact] of this.facts)
      if (fact.uid === uid && fact.end === undefined) this.facts.set(key, { ...fact, end: end < fact.begin ? fact.begin : end });
  }

  state(owner: { readonly uid: string } | undefined): Promise<UsageState> {
    if (this.left <= 0) return Promise.reject(new Error('out of reach'));
    const own = [...this.facts.values()].filter(({ uid }) => uid === owner?.uid);
    const clock = { ...(this.clock !== undefined && { clock: this.clock }), ...(this.origin && { origin: this.origin }) };
    return Promise.resolve({ ...clock, begun: own.length > 0, open: own.some(({ end }) => end === undefined) });
  }

  /** GPU seconds of all facts, which must all have ended. */
  seconds(): number {
    return [...this.facts.values()].reduce(
      (sum, { gpus, begin, end }) => sum + (gpus * (Date.parse(end!) - Date.parse(begin))) / second,
      0,
    );
  }
}

/** A machine whose clock can be set. */
class Machine {
  boot: string | undefined;
  wallAhead = start;
  passed = 0;
  readonly wall = (): number => this.wallAhead + this.passed;
  readonly monotonic = (): number => this.passed;
}

const attempt: Attempt = {
  allocation: { cluster: 'abc', namespace: 'default', name: 'order', uid: asAllocationId('uid-1'), path: 'root:acme' },
  name: 'try-1',
  parts: [
    { node: 'n1', devices: ['g0', 'g1'], cpu: 4_000, memory: 2 ** 30 },
    { node: 'n2', devices: ['g2', 'g3'], cpu: 4_000, memory: 2 ** 30 },
  ],
  exclusive: false,
  entries: new Map(),
};

function allocation({ grantedAt, deletedAt, named = 'try-1' }: { grantedAt?: number; deletedAt?: number; named?: string }): Allocation {
  const conditions =
    grantedAt === undefined
      ? []
      : [
          {
            type: 'Granted',
            status: 'True' as const,
            reason: 'Granted',
            message: '',
            lastTransitionTime: new Date(grantedAt).toISOString(),
          },
        ];
  return {
    apiVersion: 'compute.capstan.dev/v1alpha1',
    kind: 'Allocation',
    metadata: { name: 'order', uid: 'uid-1', ...(deletedAt !== undefined && { deletionTimestamp: new Date(deletedAt).toISOString() }) },
    spec: { offering: 'large', nodes: 2, priority: 0 },
    ...(grantedAt !== undefined && { status: { phase: 'Active' as const, attempt: named, conditions } }),
  };
}

const usageAt = (ledger: FakeLedger, machine: Machine): Promise<Usage> =>
  Usage.start({ ledger, time: machine, signal: () => new AbortController().signal });
const noNode = () => undefined;

describe('the ledger', () => {
  test('has a fact for each part of a granted allocation, once', async () => {
    const ledger = new FakeLedger();
    const usage = await usageAt(ledger, new Machine());
    await usage.begin([{ attempt, allocation: allocation({}) }], noNode);
    usage.granted('uid-1');
    for (let pass = 0; pass < 3; pass++) await usage.begin([{ attempt, allocation: allocation({ grantedAt: start }) }], noNode);
    expect([...ledger.facts.values()]).toMatchObject([
      {
        cluster: 'abc',
        workspace: 'root:acme',
        uid: 'uid-1',
        part: 0,
        node: 'n1',
        gpus: 2,
        offering: 'large',
        begin: '2026-03-01T00:00:00.000Z',
      },
      { part: 1, node: 'n2' },
    ]);
  });

  test('has nothing of attempts that their allocation does not name', async () => {
    const ledger = new FakeLedger();
    const usage = await usageAt(ledger, new Machine());
    usage.granted('uid-1');
    await usage.begin([{ attempt, allocation: allocation({ grantedAt: start, named: 'try-2', deletedAt: start }) }], noNode);
    await usage.tick();
    expect(ledger.facts.size).toBe(0);
  });

  test('gets beginnings that an earlier process may have reported in a while, all together', async () => {
    const ledger = new FakeLedger();
    const usage = await usageAt(ledger, new Machine());
    await usage.begin([{ attempt, allocation: allocation({ grantedAt: start }) }], noNode);
    expect(ledger.facts.size).toBe(0);
    await usage.tick();
    expect(ledger.facts.size).toBe(2);
  });

  test('holds back the release of attempts while it cannot be reached', async () => {
    const ledger = new FakeLedger();
    const usage = await usageAt(ledger, new Machine());
    ledger.left = 0;
    const leaving = { attempt, allocation: allocation({ grantedAt: start, deletedAt: start + second }) };
    const failure = await usage.begin([leaving], noNode).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HeldBack);
    expect((failure as HeldBack).attempts).toEqual(new Set([attempt]));
    ledger.left = 10;
    await usage.begin([leaving], noNode);
    expect(ledger.facts.size).toBe(2);
  });

  test('ends what vanished', async () => {
    const ledger = new FakeLedger();
    const machine = new Machine();
    const usage = await usageAt(ledger, machine);
    usage.granted('uid-1');
    await usage.begin([{ attempt, allocation: allocation({ grantedAt: start }) }], noNode);
    machine.passed = 5 * second;
    const next = await usageAt(ledger, machine);
    await next.vanished(attempt);
    await next.vanished(attempt);
    expect(ledger.seconds()).toBe(4 * 5);
  });
});

describe('time', () => {
  test('goes on by itself when the clock of the machine is set', () => {
    const machine = new Machine();
    const clock = new SteadyClock(machine);
    machine.wallAhead += 3_600_000;
    machine.passed = 10 * second;
    expect(clock.now()).toBe(start + 10 * second);
    machine.wallAhead -= 7_200_000;
    expect(clock.now()).toBe(start + 10 * second);
  });

  test('of a deletion before the start is that of the API server', async () => {
    const ledger = new FakeLedger();
    const machine = new Machine();
    const first = await usageAt(ledger, machine);
    first.granted('uid-1');
    await first.begin([{ attempt, allocation: allocation({ grantedAt: start }) }], noNode);
    machine.passed = 100 * second;
    const next = await usageAt(ledger, machine);
    await next.end(allocation({ grantedAt: start, deletedAt: start + 30 * second }), 'abc');
    expect(ledger.seconds()).toBe(4 * 30);
  });

  /** A scheduler that crashes before any of its steps, on a machine whose clock is set at any time. */
  test('is neither lost nor counted twice, whatever crashes and whenever the clock is set', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 600 }) }),
      fc.record({ kind: fc.constant('set' as const), seconds: fc.integer({ min: -7_200, max: 7_200 }) }),
      fc.record({ kind: fc.constant('pass' as const) }),
      fc.record({ kind: fc.constant('tick' as const) }),
      fc.record({ kind: fc.constant('outage' as const), requests: fc.integer({ min: 0, max: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.array(step, { maxLength: 6 }), async (before, after) => {
        const ledger = new FakeLedger();
        const machine = new Machine();
        const usage = await usageAt(ledger, machine);
        const grantedAt = usage.clock.now();
        const began = machine.passed;
        usage.granted('uid-1');
        await usage.begin([{ attempt, allocation: allocation({ grantedAt }) }], noNode);
        const take = async (steps: typeof before, current: () => Allocation): Promise<void> => {
          for (const one of steps) {
            if (one.kind === 'wait') machine.passed += one.seconds * second;
            if (one.kind === 'set') machine.wallAhead += one.seconds * second;
            if (one.kind === 'outage') ledger.left = one.requests;
            if (one.kind === 'tick') await usage.tick().catch(() => {});
            if (one.kind === 'pass') await usage.begin([{ attempt, allocation: current() }], noNode).catch(() => {});
          }
        };
        await take(before, () => allocation({ grantedAt }));
        // It is deleted now; the scheduler sees it at once, and tries until it has succeeded.
        const deletedAt = machine.wall();
        const used = machine.passed - began;
        const deleted = allocation({ grantedAt, deletedAt });
        ledger.left = Number.POSITIVE_INFINITY;
        await usage.begin([{ attempt, allocation: deleted }], noNode);
        await usage.end(deleted, 'abc');
        await take(after, () => deleted);
        ledger.left = Number.POSITIVE_INFINITY;
        await usage.end(deleted, 'abc');
        expect(ledger.seconds()).toBe((4 * used) / second);
      }),
    );
  });

  test('never goes back over a restart, so a clock that was set back loses a minute at most', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 7_200 }), fc.integer({ min: 0, max: 600 }), async (back, seconds) => {
        const ledger = new FakeLedger();
        const machine = new Machine();
        const first = await usageAt(ledger, machine);
        const grantedAt = first.clock.now();
        first.granted('uid-1');
        await first.begin([{ attempt, allocation: allocation({ grantedAt }) }], noNode);
        machine.passed += 600 * second;
        await first.tick();
        machine.wallAhead -= back * second;
        const next = await usageAt(ledger, machine);
        await next.begin([{ attempt, allocation: allocation({ grantedAt }) }], noNode);
        machine.passed += seconds * second;
        await next.end(allocation({ grantedAt, deletedAt: machine.wall() }), 'abc');
        expect(ledger.seconds()).toBe(4 * (600 + seconds));
      }),
    );
  });

  test('is the same after a restart, whatever the clock was set to meanwhile, until the machine restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -7_200, max: 7_200 }), fc.integer({ min: 0, max: 600 }), async (ahead, seconds) => {
        const ledger = new FakeLedger();
        const machine = new Machine();
        machine.boot = 'first';
        const first = await usageAt(ledger, machine);
        const grantedAt = first.clock.now();
        first.granted('uid-1');
        await first.begin([{ attempt, allocation: allocation({ grantedAt }) }], noNode);
        machine.passed += 600 * second;
        machine.wallAhead += ahead * second;
        machine.passed += seconds * second;
        const next = await usageAt(ledger, machine);
        await next.begin([{ attempt, allocation: allocation({ grantedAt }) }], noNode);
        machine.passed += 60 * second;
        await next.end(allocation({ grantedAt, deletedAt: machine.wall() }), 'abc');
        expect(ledger.seconds()).toBe(4 * (660 + seconds));
        machine.boot = 'second';
        const last = await usageAt(ledger, machine);
        expect(last.clock.now()).toBe(Math.max(machine.wall(), Date.parse(ledger.clock!)));
      }),
    );
  });
});

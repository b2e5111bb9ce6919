import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Line } from './line.ts';
import { ProcessorTime } from './processor-time.ts';
import { WorkQueue } from './work-queue.ts';

const line = (tenant: string): Line => ({ level: 'people', tenant, workspace: tenant, user: tenant });
const [greedy, small] = [line('/greedy'), line('/small')];

/** A clock that only work moves. */
function stage(options: { maxWaiting?: number; maxWaitingPerTenant?: number } = {}) {
  let time = 0;
  const now = (): number => time;
  const ledger = new ProcessorTime({ now });
  const queue = new WorkQueue({ time: ledger, now, turn: { shared: 8, single: 8 }, ...options });
  const order: string[] = [];
  const work = async (one: Line, milliseconds: number): Promise<void> => {
    await queue.turn(one);
    order.push(one.tenant);
    time += milliseconds;
  };
  return { ledger, queue, order, work, pass: (milliseconds: number) => (time += milliseconds) };
}

describe('work that waits', () => {
  it('is done for the tenant that has used the least time', async () => {
    const { work, order } = stage();
    const all = [...Array.from({ length: 4 }, () => work(greedy, 5)), work(small, 1), work(small, 1)];
    await Promise.all(all);
    expect(order).toEqual(['/greedy', '/small', '/small', '/greedy', '/greedy', '/greedy']);
  });

  it('is done for the users of a tenant in turns', async () => {
    const { queue } = stage();
    const order: string[] = [];
    const work = async (user: string): Promise<void> => {
      await queue.turn({ ...greedy, user });
      order.push(user);
    };
    await Promise.all([...Array.from({ length: 4 }, () => work('script')), work('person'), work('person'), work('other')]);
    expect(order).toEqual(['script', 'person', 'other', 'script', 'person', 'script', 'script']);
  });

  it('leaves the event loop to others between turns', async () => {
    const { work, order } = stage();
    const all = Promise.all(Array.from({ length: 6 }, () => work(greedy, 5)));
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    expect(order.length).toBeLessThan(6);
    await all;
    expect(order).toHaveLength(6);
  });

  it('is charged with everything that follows without waiting', async () => {
    const { ledger, work, queue } = stage();
    const follows = async (): Promise<void> => {
      for (let step = 0; step < 10; step++) await Promise.resolve();
      await work(greedy, 3);
    };
    await Promise.all([work(greedy, 4), follows()]);
    await setImmediate();
    expect(ledger.used('/greedy')).toBeCloseTo(7, 1);
    expect([ledger.used('/small'), queue.waiting]).toEqual([0, 0]);
  });

  it('is limited for each tenant', () => {
    const { queue } = stage({ maxWaiting: 100, maxWaitingPerTenant: 3 });
    for (let index = 0; index < 3; index++) void queue.turn(greedy);
    expect([queue.hasRoomFor(greedy), queue.hasRoomFor(small)]).toEqual([false, true]);
  });
});

describe('work in long pieces', () => {
  it('rests after each of them but the first while others use the event loop, so that a request of another waits for one at most', async () => {
    const { ledger, work, order, pass } = stage();
    for (const one of [greedy, small, greedy]) ledger.begin(one);
    const greedyWork = Promise.all(Array.from({ length: 4 }, () => work(greedy, 40)));
    // A request that waits again and again, as one does for the store.
    for (let turn = 0; turn < 6; turn++) {
      await work(small, 1);
      await setImmediate();
    }
    expect(order).toEqual(['/greedy', '/small', '/greedy', '/small', '/small', '/small', '/small', '/small']);
    for (let piece = 3; piece <= 4; piece++) {
      pass(40);
      await expect.poll(() => order.filter((tenant) => tenant === '/greedy')).toHaveLength(piece);
    }
    await greedyWork;
  });

  it('rests however it began, also if others got few turns', () => {
    const { ledger, pass } = stage();
    for (let round = 0; round < 3; round++) {
      ledger.begin(small);
      ledger.begin(greedy);
      pass(200);
      ledger.endPiece();
      expect([ledger.isShared, ledger.restOf('/greedy'), ledger.restOf('/small')]).toEqual([false, round === 0 ? 0 : 100, 0]);
      pass(101);
      expect(ledger.restOf('/greedy')).toBe(0);
    }
  });

  it('is done without rests while nobody else is there', async () => {
    const { work, order } = stage();
    const all = Promise.all(Array.from({ length: 3 }, () => work(greedy, 40)));
    for (let turn = 0; turn < 6; turn++) await setImmediate();
    expect(order).toHaveLength(3);
    await all;
  });
});

describe('connections that wait to be read', () => {
  /** Two tenants have taken turns often enough. */
  function shared() {
    const staged = stage();
    for (let turn = 0; turn < 10; turn++) staged.ledger.begin(turn % 2 === 0 ? greedy : small);
    const read: string[] = [];
    const wait = (one: Line): void => staged.queue.read(one, () => read.push(one.tenant));
    return { ...staged, read, wait };
  }

  it('are a few in each turn of the event loop, those of the tenant that has used the least time first', async () => {
    const { queue, work, wait, read } = shared();
    await work(greedy, 5);
    for (let index = 0; index < 6; index++) wait(greedy);
    wait(small);
    await setImmediate();
    expect(read).toEqual(['/small', '/greedy', '/greedy', '/greedy']);
    await setImmediate();
    expect([read.length, queue.unread]).toEqual([7, 0]);
  });

  it('are one in each turn while enough requests of their tenant wait', async () => {
    const { work, wait, read, queue } = shared();
    const all = Promise.all(Array.from({ length: 12 }, () => work(greedy, 10)));
    for (let index = 0; index < 3; index++) wait(greedy);
    wait(small);
    const seen: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await setImmediate();
      seen.push(read.length);
    }
    expect([read, seen, queue.unread]).toEqual([['/small', '/greedy', '/greedy', '/greedy'], [1, 2, 3, 4], 0]);
    await all;
  });

  it('are read for the users of a tenant in turns', async () => {
    const { queue, ledger } = stage();
    for (let turn = 0; turn < 10; turn++) ledger.begin({ ...greedy, user: turn % 2 === 0 ? 'script' : 'person' });
    const read: string[] = [];
    for (const user of ['script', 'script', 'script', 'script', 'script', 'person']) queue.read({ ...greedy, user }, () => read.push(user));
    await setImmediate();
    expect(read).toEqual(['script', 'person', 'script', 'script']);
  });

  it('are all read at once when no tenant shares the event loop', async () => {
    const { queue } = stage();
    let read = 0;
    for (let index = 0; index < 50; index++) queue.read(greedy, () => read++);
    await setImmediate();
    expect(read).toBe(50);
  });
});

describe('large requests', () => {
  it('of the users of a tenant take turns', async () => {
    const { queue } = stage();
    const order: string[] = [];
    const enter = async (user: string): Promise<void> => {
      const own = { ...greedy, user };
      await queue.enter(own);
      order.push(user);
      queue.leave(own);
    };
    await Promise.all([enter('script'), enter('script'), enter('script'), enter('script'), enter('person')]);
    expect(order).toEqual(['script', 'script', 'person', 'script', 'script']);
  });

  it('of one tenant run one after another, and do not wait for those of others', async () => {
    const { queue } = stage();
    const running: string[] = [];
    const enter = async (one: Line): Promise<void> => {
      await queue.enter(one);
      running.push(one.tenant);
    };
    const all = [enter(greedy), enter(greedy), enter(greedy), enter(small)];
    await expect.poll(() => running).toEqual(['/greedy', '/small']);
    for (const one of [greedy, greedy, small, greedy]) {
      queue.leave(one);
      await setImmediate();
      await setImmediate();
    }
    await Promise.all(all);
    expect(running).toEqual(['/greedy', '/small', '/greedy', '/greedy']);
    expect(queue.waiting).toBe(0);
  });

  it('are rejected when too many wait', async () => {
    const { queue } = stage({ maxWaiting: 100, maxWaitingPerTenant: 2 });
    await queue.enter(greedy);
    for (let index = 0; index < 2; index++) void queue.enter(greedy);
    await expect(queue.enter(greedy)).rejects.toMatchObject({ code: 429 });
    await expect(queue.enter(small)).resolves.toBeUndefined();
  });
});

describe('processor time', () => {
  function clock() {
    let time = 0;
    const due: (() => void)[] = [];
    const ledger = new ProcessorTime({ now: () => time, afterWork: (end) => due.push(end) });
    const run = (callbacks: (() => void)[]): void => {
      for (const callback of callbacks.splice(0)) callback();
    };
    return { ledger, pass: (milliseconds: number) => (time += milliseconds), end: () => run(due) };
  }

  it('is charged to the tenant whose piece runs, and to nobody between pieces', () => {
    const { ledger, pass, end } = clock();
    ledger.begin(line('/a'));
    pass(2);
    ledger.begin(line('/b'));
    pass(3);
    end();
    pass(4);
    ledger.begin(line('/b'));
    end();
    expect([ledger.usedInWindow('/a'), ledger.usedInWindow('/b')]).toEqual([2, 3]);
  });

  it('counts less the longer it is ago, and in each window anew', () => {
    const { ledger, pass, end } = clock();
    ledger.begin(line('/a'));
    pass(8);
    end();
    expect(ledger.usedInWindow('/a')).toBe(8);
    pass(5_000);
    expect(ledger.used('/a')).toBeCloseTo(4, 1);
    expect(ledger.usedInWindow('/a')).toBe(0);
  });

  it('is not forgotten when a new window begins, but little by little', () => {
    const { ledger, pass, end } = clock();
    const work = (milliseconds: number): void => {
      ledger.begin(line('/a'));
      pass(milliseconds);
      end();
    };
    work(8);
    pass(4);
    work(1);
    // The window that began with the last piece ends where it began.
    expect([ledger.usedInWindow('/a'), ledger.usedLately('/a')]).toEqual([1, 9]);
    pass(5);
    expect(ledger.usedLately('/a')).toBeCloseTo(5, 1);
    pass(10);
    expect(ledger.usedLately('/a')).toBeCloseTo(0.5, 1);
    pass(10);
    expect([ledger.usedLately('/a'), ledger.usedLately('/b')]).toEqual([0, 0]);
  });

  it('is shared as long as tenants take turns often', () => {
    const { ledger, pass, end } = clock();
    const work = (tenants: readonly string[]): void => {
      for (const tenant of tenants) {
        ledger.begin(line(tenant));
        pass(20);
        end();
      }
    };
    work(Array.from({ length: 100 }, () => '/a'));
    expect(ledger.isShared).toBe(false);
    work(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? '/a' : '/b')));
    expect(ledger.isShared).toBe(true);
    work(Array.from({ length: 100 }, () => '/a'));
    expect(ledger.isShared).toBe(false);
  });

  it('is remembered for a limited number of tenants', () => {
    const { ledger, pass, end } = clock();
    for (let index = 0; index < 5_000; index++) {
      ledger.begin(line(`/${index}`));
      pass(1);
      end();
    }
    expect(ledger.tenants).toBeLessThanOrEqual(1_000);
  });
});

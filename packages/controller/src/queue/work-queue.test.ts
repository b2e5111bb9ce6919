import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

const make = (options: Partial<WorkQueueOptions<string>> = {}): WorkQueue<string> =>
  new WorkQueue<string>({ keyOf: (item) => item, now: () => Date.now(), ...options });

const drain = (queue: WorkQueue<string>): string[] => {
  const taken: string[] = [];
  for (let item = queue.tryTake(); item !== undefined; item = queue.tryTake()) {
    taken.push(item);
    queue.done(item);
  }
  return taken;
};

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

test('returns an item once that was added twice', () => {
  const queue = make();
  queue.add('a');
  queue.add('b');
  queue.add('a');
  expect(queue.depth).toBe(2);
  expect(drain(queue)).toEqual(['a', 'b']);
});

test('returns an item once more that was added while it was worked on', () => {
  const queue = make();
  queue.add('a');
  expect(queue.tryTake()).toBe('a');
  queue.add('a');
  queue.add('a');
  expect(queue.tryTake()).toBeUndefined();
  queue.done('a');
  expect(drain(queue)).toEqual(['a']);
});

test('gives the next item to a waiting worker', async () => {
  const queue = make();
  const waiting = queue.take();
  queue.add('a');
  expect(await waiting).toBe('a');
});

test('rejects a second done for the same item', () => {
  const queue = make();
  queue.add('a');
  queue.tryTake();
  queue.done('a');
  expect(() => queue.done('a')).toThrow('"a" is not being worked on');
});

describe('priority', () => {
  test('returns changes before resyncs', () => {
    const queue = make();
    queue.add('old', 'resync');
    queue.add('new');
    expect(drain(queue)).toEqual(['new', 'old']);
  });

  test('moves an item ahead that waits for a resync when it changes', () => {
    const queue = make();
    queue.add('other', 'resync');
    queue.add('a', 'resync');
    queue.add('a');
    queue.add('a', 'resync');
    expect(drain(queue)).toEqual(['a', 'other']);
  });

  test('gives resyncs a turn under a flood of changes', () => {
    const queue = make();
    queue.add('resync', 'resync');
    for (let index = 0; index < 100; index++) queue.add(`${index}`);
    expect(drain(queue).indexOf('resync')).toBe(15);
  });
});

test('does not let a busy workspace delay the others', () => {
  const queue = make({ fairness: (item) => item.slice(0, 1) });
  for (let index = 0; index < 1000; index++) queue.add(`n${index}`);
  queue.add('q1');
  queue.add('q2');
  queue.add('r1');
  const order = drain(queue);
  expect(order.slice(0, 6)).toEqual(['n0', 'q1', 'r1', 'n1', 'q2', 'n2']);
  expect(order).toHaveLength(1003);
});

describe('delays', () => {
  test('returns an item when it is due, at the earliest of several times', () => {
    const queue = make();
    queue.addAfter('a', 100);
    queue.addAfter('a', 50);
    queue.addAfter('a', 200);
    queue.addAfter('b', 70);
    vi.advanceTimersByTime(49);
    expect(drain(queue)).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(drain(queue)).toEqual(['a']);
    vi.advanceTimersByTime(1000);
    expect(drain(queue)).toEqual(['b']);
    expect(queue.size).toBe(0);
  });

  test('uses one timer for any number of items', () => {
    const queue = make();
    for (let index = 0; index < 100; index++) queue.addAfter(`${index}`, 1000 - index);
    expect(vi.getTimerCount()).toBe(1);
  });

  test('doubles the wait of a failing item until it is forgotten', () => {
    const queue = make({ backoff: { base: 10, max: 50 } });
    const waits: number[] = [];
    const fail = (): void => {
      const before = Date.now();
      queue.addFailed('a');
      while (queue.depth === 0) vi.advanceTimersByTime(1);
      waits.push(Date.now() - before);
      drain(queue);
    };
    for (let round = 0; round < 5; round++) fail();
    expect(queue.failures('a')).toBe(5);
    queue.forget('a');
    fail();
    expect(waits).toEqual([10, 20, 40, 50, 50, 10]);
  });

  test('limits the rate of all failing items together', () => {
    const queue = make({ backoff: { base: 1, max: 1 }, rate: { perSecond: 10, burst: 5 } });
    for (let index = 0; index < 25; index++) queue.addFailed(`${index}`);
    vi.advanceTimersByTime(1);
    expect(drain(queue)).toHaveLength(5);
    vi.advanceTimersByTime(1000);
    expect(drain(queue)).toHaveLength(10);
  });
});

test('ends waiting workers when it is closed, and accepts nothing more', async () => {
  const queue = make();
  queue.add('worked on');
  expect(queue.tryTake()).toBe('worked on');
  const waiting = queue.take();
  queue.addAfter('delayed', 10);
  queue.close();
  queue.add('late');
  vi.advanceTimersByTime(100);
  expect(await waiting).toBeUndefined();
  expect(await queue.take()).toBeUndefined();
  queue.done('worked on');
  expect(queue.size).toBe(0);
});

test('never gives an item to two workers, loses none and holds none for any sequence of calls', () => {
  const item = fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1');
  const priority = fc.constantFrom('fresh' as const, 'resync' as const);
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), item, priority }),
    fc.record({ do: fc.constant('later' as const), item, priority, wait: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ do: fc.constant('fail' as const), item }),
    fc.record({ do: fc.constant('forget' as const), item }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('done' as const) }),
    fc.record({ do: fc.constant('wait' as const), wait: fc.integer({ min: 0, max: 60 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = make({ fairness: (one) => one.slice(0, 1), backoff: { base: 1, max: 8 }, rate: { perSecond: 1000, burst: 1000 } });
      const working: string[] = [];
      /** Added, and not taken since. */
      const owed = new Set<string>();
      for (const one of steps) {
        if (one.do === 'add') queue.add(one.item, one.priority);
        else if (one.do === 'later') queue.addAfter(one.item, one.wait, one.priority);
        else if (one.do === 'fail') queue.addFailed(one.item);
        else if (one.do === 'forget') queue.forget(one.item);
        else if (one.do === 'wait') vi.advanceTimersByTime(one.wait);
        else if (one.do === 'take') {
          const depth = queue.depth;
          const taken = queue.tryTake();
          expect(taken !== undefined).toBe(depth > 0);
          if (taken !== undefined) {
            expect(working).not.toContain(taken);
            working.push(taken);
            owed.delete(taken);
          }
        } else if (working.length > 0) queue.done(working.shift()!);
        if ('item' in one && one.do !== 'forget') owed.add(one.item);
      }
      for (const one of working) queue.done(one);
      vi.advanceTimersByTime(1000);
      const rest = drain(queue);
      expect(new Set(rest).size).toBe(rest.length);
      for (const one of owed) expect(rest).toContain(one);
      for (const name of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.forget(name);
      expect(queue.size).toBe(0);
      expect(queue.depth).toBe(0);
    }),
    { numRuns: 300 },
  );
});

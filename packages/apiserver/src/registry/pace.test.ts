import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

/** A clock that a test sets. */
function clock(): { now: () => number; pass: (milliseconds: number) => void } {
  let time = 0;
  return { now: () => time, pass: (milliseconds) => void (time += milliseconds) };
}

test('short work never waits', async () => {
  const { now, pass } = clock();
  const pace = new Pace({ turn: () => Promise.reject(new Error('waited')) }, now);
  const work = function* (): Generator<void, string> {
    pass(0.5);
    yield;
    pass(0.2);
    return 'done';
  };
  expect(await pace.run(work())).toBe('done');
  expect(pace.pause()).toBeUndefined();
  expect(pace.hasWaited).toBe(false);
});

test('long work waits for its turn between its parts', async () => {
  const { now, pass } = clock();
  let turns = 0;
  const pace = new Pace({ turn: () => Promise.resolve(void turns++) }, now);
  const work = function* (): Generator<void, number> {
    for (let part = 0; part < 6; part++) {
      pass(5);
      yield;
    }
    return turns;
  };
  expect(await pace.run(work())).toBe(6);
  expect(pace.hasWaited).toBe(true);
});

test('work that has turned out to be long gets shorter slices than it began with', async () => {
  const { now, pass } = clock();
  const pace = new Pace({ turn: () => Promise.resolve() }, now);
  pass(2);
  expect(pace.pause()).toBeUndefined();
  pass(2);
  await pace.pause();
  pass(2);
  expect(pace.pause()).toBeInstanceOf(Promise);
});

test('work of a client that waits for its turns anyway gets short slices from the start', () => {
  const { now, pass } = clock();
  const pace = new Pace({ turn: () => Promise.resolve(), isHeldBack: () => true }, now);
  pass(0.4);
  expect(pace.pause()).toBeUndefined();
  pass(0.2);
  expect(pace.pause()).toBeInstanceOf(Promise);
});

test('time in which the operation waited for something else does not count', () => {
  const { now, pass } = clock();
  const pace = new Pace({ turn: () => Promise.resolve() }, now);
  pass(1000);
  pace.resume();
  expect(pace.pause()).toBeUndefined();
});

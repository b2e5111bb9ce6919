import { expect, test } from 'vitest';
import { type Applicant, Places } from './places.ts';

const never = new AbortController().signal;

/** Applies for a place, and notes what happens. */
function apply(places: Places, applicant: Applicant, signal = never) {
  const one = { isRunning: false, reasons: [] as string[], end: () => {}, failure: undefined as unknown };
  const settled = places
    .take(applicant, signal, (why) => void one.reasons.push(why))
    .then(
      (place) => {
        one.isRunning = true;
        one.end = () => {
          one.isRunning = false;
          place[Symbol.dispose]();
        };
      },
      (error: unknown) => void (one.failure = error),
    );
  return Object.assign(one, { settled });
}
const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('places are given in turn, and those who wait are told whenever others run', async () => {
  const places = new Places(2);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => apply(places, { name })) as [
    ReturnType<typeof apply>,
    ...ReturnType<typeof apply>[],
  ];
  await moment();
  expect([a, b, c, d].map((one) => one?.isRunning)).toEqual([true, true, false, false]);
  expect(c?.reasons).toEqual(['waiting for one of the tasks a, b']);
  a.end();
  await moment();
  expect([c?.isRunning, d?.isRunning]).toEqual([true, false]);
  expect(d?.reasons).toEqual(['waiting for one of the tasks a, b', 'waiting for one of the tasks b, c']);
  b?.end();
  await moment();
  expect(d?.isRunning).toBe(true);
});

test('one place more is kept for those that must not wait', async () => {
  const places = new Places(1);
  const long = apply(places, { name: 'long' });
  const first = apply(places, { name: 'first', hasOwnPlace: true });
  const second = apply(places, { name: 'second', hasOwnPlace: true });
  const other = apply(places, { name: 'other' });
  await moment();
  expect([long, first, second, other].map((one) => one.isRunning)).toEqual([true, true, false, false]);
  expect(second.reasons).toEqual(['waiting for one of the tasks long, first']);
  expect(other.reasons).toEqual(['waiting for the task long']);
  first.end();
  await moment();
  expect([second.isRunning, other.isRunning]).toEqual([true, false]);
  long.end();
  await moment();
  expect(other.isRunning).toBe(true);
});

test('those that exclude each other run one after the other, and keep no place from others while they wait', async () => {
  const places = new Places(2);
  const first = apply(places, { name: 'first', exclusive: 'packages' });
  const second = apply(places, { name: 'second', exclusive: 'packages' });
  const other = apply(places, { name: 'other', exclusive: 'services' });
  await moment();
  expect([first, second, other].map((one) => one.isRunning)).toEqual([true, false, true]);
  expect(second.reasons).toEqual(['waiting for the task first: both need the packages of the node']);
  first.end();
  await moment();
  expect(second.isRunning).toBe(true);
});

test('one that gives up is not given a place any more', async () => {
  const places = new Places(1);
  const running = apply(places, { name: 'running' });
  const stop = new AbortController();
  const waiting = apply(places, { name: 'waiting' }, stop.signal);
  const reason = new Error('cancelled');
  stop.abort(reason);
  await waiting.settled;
  expect(waiting.failure).toBe(reason);
  running.end();
  const next = apply(places, { name: 'next' });
  await moment();
  expect([waiting.isRunning, next.isRunning]).toEqual([false, true]);
});

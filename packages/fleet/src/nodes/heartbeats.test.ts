import { expect, test } from 'vitest';
import { Heartbeats } from './heartbeats.ts';

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

test('a node is silent when its Lease has not changed for long enough, by our own clock', () => {
  const heartbeats = new Heartbeats(40_000);
  expect(heartbeats.listen('n', undefined, 0)).toEqual({ kind: 'never' });
  expect(heartbeats.listen('n', at(0), 1_000)).toEqual({ kind: 'heard', left: 40_000 });
  expect(heartbeats.listen('n', at(0), 40_999)).toEqual({ kind: 'heard', left: 1 });
  expect(heartbeats.listen('n', at(0), 41_000)).toEqual({ kind: 'silent' });
  expect(heartbeats.listen('n', at(5), 42_000)).toEqual({ kind: 'heard', left: 40_000 });
});

test('a machine whose clock is wrong is heard when its Lease changes', () => {
  const heartbeats = new Heartbeats(40_000);
  expect(heartbeats.listen('n', at(9_000), 0)).toEqual({ kind: 'listening', left: 40_000 });
  expect(heartbeats.listen('n', at(9_010), 10_000)).toEqual({ kind: 'heard', left: 40_000 });
});

test('an old Lease proves nothing after a restart, until the time is over', () => {
  const heartbeats = new Heartbeats(40_000);
  expect(heartbeats.listen('n', at(0), 1_000_000)).toEqual({ kind: 'listening', left: 40_000 });
  expect(heartbeats.listen('n', at(0), 1_040_000)).toEqual({ kind: 'silent' });
});

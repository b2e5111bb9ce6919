import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LogGrowth } from './growth.ts';

const none = new AbortController().signal;
let directory: string;
let file: string;
let growth: LogGrowth;
// Time stands still: only changes end a wait.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  directory = mkdtempSync(join(tmpdir(), 'capstan-growth-'));
  file = join(directory, 'output.0');
  writeFileSync(file, '');
  growth = new LogGrowth();
});
afterEach(() => {
  growth[Symbol.dispose]();
  rmSync(directory, { recursive: true });
  vi.useRealTimers();
});

async function isOver(waiting: Promise<void>): Promise<boolean> {
  let over = false;
  void waiting.then(() => (over = true));
  for (let turn = 0; turn < 20 && !over; turn++) await new Promise(setImmediate);
  return over;
}

test('a line ends the wait, also if it came before', async () => {
  expect(growth.watch(file)).toBe(true);
  const waiting = growth.wait(none);
  expect(await isOver(waiting)).toBe(false);
  appendFileSync(file, 'one');
  await waiting;
  vi.advanceTimersByTime(1_000);
  growth.begin();
  appendFileSync(file, 'two');
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  await growth.wait(none);
});

test('a log that grows all the time is looked at now and then, and at its end', async () => {
  growth.watch(file);
  appendFileSync(file, 'one');
  await growth.wait(none);
  growth.begin();
  appendFileSync(file, 'two');
  const busy = growth.wait(none);
  expect(await isOver(busy)).toBe(false);
  vi.advanceTimersByTime(100);
  await busy;
  growth.begin();
  const last = growth.wait(none);
  writeFileSync(join(directory, 'exit'), '');
  await last;
});

test('a folder is watched once, and one that is gone is looked at now and then', async () => {
  expect(growth.watch(undefined)).toBe(false);
  expect([growth.watch(file), growth.watch(file)]).toEqual([true, false]);
  expect(growth.watch(join(directory, 'gone/output'))).toBe(false);
  const waiting = growth.wait(none);
  vi.advanceTimersByTime(100);
  await waiting;
});

test('a signal ends the wait', async () => {
  growth.watch(file);
  const stop = new AbortController();
  const waiting = growth.wait(stop.signal);
  stop.abort();
  await waiting;
});

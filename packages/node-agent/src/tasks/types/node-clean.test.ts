import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GpuReading } from '@capstan/api';
import { afterAll, expect, test, vi } from 'vitest';
import { allocationMarker, processesMarked } from '../../processes/proc.ts';
import type { TaskContext } from '../task-type.ts';
import { nodeClean } from './node-clean.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-clean-'));
afterAll(() => rmSync(directory, { recursive: true }));

const idle: GpuReading = { uuid: 'GPU-1', throttle: [], unreadable: [], processes: [] };
const printed: string[] = [];
const context = {
  signal: new AbortController().signal,
  step: () => {},
  print: (text: string) => void printed.push(text),
} as unknown as TaskContext;

const noted = new Set<string>();
const cleaned: string[] = [];
const memory = { note: (uid: string) => void noted.add(uid), add: async (uid: string) => void cleaned.push(uid) };

const task = (readings: () => readonly GpuReading[]) =>
  nodeClean({
    directory,
    groups: undefined,
    gpus: { inspect: async () => [], readings },
    cleaned: memory,
    times: { interval: 10, grace: 100, limit: 10_000, gpuInterval: 10, gpuLimit: 20 },
  });
const clean = (allocation: string, readings: readonly GpuReading[] = [], devices?: readonly string[]) =>
  task(() => readings).run({ allocation, ...(devices && { devices }) } as never, context);
const isUntouched = (allocation: string, readings: readonly GpuReading[] = [], devices?: readonly string[]) =>
  task(() => readings).check({ allocation, ...(devices && { devices }) } as never, context);

function start(allocation: string, script: string): ChildProcess {
  return spawn('/bin/sh', ['-c', script], { env: { ...process.env, [allocationMarker]: allocation }, stdio: 'ignore' });
}

test('ends the processes of the allocation, also those that ignore SIGTERM, and deletes its files', async () => {
  mkdirSync(join(directory, 'a1', 'deep'), { recursive: true });
  writeFileSync(join(directory, 'a1', 'deep', 'file'), '');
  mkdirSync(join(directory, 'a2'));
  const [own, other] = [start('a1', 'trap "" TERM; setsid sleep 600 & sleep 600; sleep 600'), start('a2', 'sleep 600')];
  while ((await processesMarked(allocationMarker, 'a1')).length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await clean('a1')).toEqual({});
  expect(await processesMarked(allocationMarker, 'a1')).toEqual([]);
  expect(existsSync(join(directory, 'a1'))).toBe(false);
  expect(existsSync(join(directory, 'a2'))).toBe(true);
  expect(own.pid).toBeDefined();
  expect(other.exitCode).toBeNull();
  expect(await clean('a2')).toEqual({});
});

test('has nothing to do for an allocation that left nothing', async () => {
  expect(await isUntouched('never', [idle], ['GPU-1'])).toBe(true);
  expect(await clean('never')).toEqual({});
});

test('has something to do for processes, files and devices in use', async () => {
  mkdirSync(join(directory, 'a5'));
  expect(await isUntouched('a5')).toBe(false);
  start('a6', 'sleep 600');
  await vi.waitFor(async () => expect(await isUntouched('a6')).toBe(false));
  await clean('a6');
  expect(await isUntouched('a6')).toBe(true);
  expect(await isUntouched('never', [{ ...idle, processes: [{ pid: 1 }] }], ['GPU-1'])).toBe(false);
});

test('reports processes without a mark on devices that only the allocation had, and memory that nobody seems to use', async () => {
  const found = async (reading: Partial<GpuReading>, devices = ['GPU-1']) =>
    clean('never', [{ ...idle, ...reading }], devices).catch((error: Error) => error.message);
  expect(await found({ processes: [{ pid: 7, name: 'python' }] })).toBe('GPU-1: its memory is still used by the processes 7 (python)');
  expect(await found({ memoryUsedBytes: 12 * 2 ** 30 })).toBe('GPU-1: 12 GiB of its memory are in use, by no process that is known');
  expect(await found({ memoryUsedBytes: 2 ** 29 })).toEqual({});
  expect(await found({ processes: [{ pid: 7 }] }, ['GPU-2'])).toEqual({});
  const divided = { processes: [{ pid: 7, migDevice: 'MIG-1' }], memoryUsedBytes: 12 * 2 ** 30 };
  expect(await found(divided, ['MIG-1'])).toBe('GPU-1: its memory is still used by the processes 7');
  expect(await found(divided, ['MIG-2'])).toEqual({});
});

test('waits until the driver has released the memory of processes that were ended', async () => {
  const { pid = 0 } = start('a7', 'sleep 600');
  await vi.waitFor(async () => expect(await processesMarked(allocationMarker, 'a7')).toContain(pid));
  let looks = 0;
  const slow = nodeClean({
    directory,
    groups: undefined,
    gpus: { inspect: async () => [], readings: () => [{ ...idle, processes: ++looks < 3 ? [{ pid }] : [] }] },
    cleaned: memory,
    times: { interval: 10, grace: 100, limit: 10_000, gpuInterval: 10, gpuLimit: 10_000 },
  });
  expect(await slow.run({ allocation: 'a7' } as never, context)).toEqual({});
  expect(looks).toBe(3);
});

test('reports memory of GPUs that its processes still hold', async () => {
  const { pid = 0 } = start('a3', 'sleep 600');
  while ((await processesMarked(allocationMarker, 'a3')).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const reading = { uuid: 'GPU-1', throttle: [], unreadable: [], processes: [{ pid }] };
  await expect(clean('a3', [reading])).rejects.toMatchObject({
    code: 'NotClean',
    report: [{ name: 'GPU-1' }],
    message: `GPU-1: its memory is still used by the processes ${pid}`,
  });
});

test('remembers an allocation while it is cleaned up after, and for good when nothing is left', async () => {
  const used = [{ ...idle, processes: [{ pid: 7 }] }];
  expect(await isUntouched('kept', used, ['GPU-1'])).toBe(false);
  await expect(clean('kept', used, ['GPU-1'])).rejects.toMatchObject({ code: 'NotClean' });
  expect([noted.has('kept'), cleaned.includes('kept')]).toEqual([true, false]);
  await clean('kept', [idle], ['GPU-1']);
  expect(cleaned).toContain('kept');
  expect(await isUntouched('untouched')).toBe(true);
  expect(cleaned).toContain('untouched');
});

test.each(['..', 'a/b', '', 'A'])('refuses the id %j', async (id) => {
  await expect(clean(id)).rejects.toMatchObject({ code: 'InvalidParameters' });
});

const mayMount = ((): boolean => {
  try {
    const probe = join(directory, 'probe');
    mkdirSync(probe);
    execFileSync('mount', ['-t', 'tmpfs', 'capstan-test', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!mayMount)('unmounts, also mounts over each other, and deletes nothing below a mount that stays', async () => {
  const mount = join(directory, 'a4', 'data');
  mkdirSync(mount, { recursive: true });
  for (const _ of [1, 2]) execFileSync('mount', ['-t', 'tmpfs', 'capstan-test', mount]);
  writeFileSync(join(mount, 'theirs'), '');
  const busy = spawn('sleep', ['600'], { cwd: mount, stdio: 'ignore' });
  await expect(clean('a4')).rejects.toMatchObject({
    code: 'NotClean',
    message: expect.stringMatching(/is still mounted: target is busy$/),
  });
  expect(existsSync(join(mount, 'theirs'))).toBe(true);
  busy.kill();
  await new Promise((resolve) => busy.once('exit', resolve));
  expect(await clean('a4')).toEqual({});
  expect(existsSync(join(directory, 'a4'))).toBe(false);
});

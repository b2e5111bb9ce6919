import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UnitRecords } from '../exec/records.ts';
import type { BoxState, Dialect } from './dialect.ts';
import { ContainerDriver } from './driver.ts';
import { Engine } from './engine.ts';
import { writeRecord } from './records.ts';
import type { Surroundings } from './surroundings.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-memory-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const ended: BoxState = {
  id: 'c',
  phase: 'ended',
  pid: 0,
  code: 137,
  outOfMemory: false,
  startedAt: '2031-01-01T00:00:00Z',
  finishedAt: '2031-01-01T00:00:01Z',
  tty: false,
  labels: {},
  volumes: [],
};
const surroundings: Surroundings = {
  prepare: async () => {},
  open: () => Promise.reject(new Error('nothing starts here')),
  follow: async () => {},
  isAlive: async () => false,
  address: async () => undefined,
  ended: async () => {},
  changed: async () => {},
  end: async () => {},
  connect: () => Promise.reject(new Error('there are no ports')),
  remove: async () => {},
  list: async () => [],
};

/** A program whose cgroup the engine deletes as soon as it says that the program has ended, or before that. */
async function endOf(box: BoxState, kills: number, { isDeletedEarly = false } = {}): Promise<unknown> {
  const group = mkdtempSync(join(directory, 'group-'));
  writeFileSync(join(group, 'memory.events'), `low 0\noom ${kills}\noom_kill ${kills}\n`);
  const records = new UnitRecords(directory);
  await records.create('u', 0);
  await writeRecord(records.folder('u', 0), 'started', {
    ...{ pid: 7, startedAt: box.startedAt, container: 'c', allocation: 'a' },
    groups: { cpu: group, memory: group },
  });
  const dialect = {
    engine: 'Podman',
    inspect: async () => {
      rmSync(group, { recursive: true, force: true });
      return box;
    },
    output: () => ({ keep: () => {}, files: async () => [], finish: async () => {}, close: () => {} }),
  } as unknown as Dialect;
  let isAlive = isDeletedEarly;
  const end = Promise.withResolvers<void>();
  const ending: Surroundings = {
    ...surroundings,
    isAlive: async () => isAlive,
    ended: () => end.promise,
    changed: async () => {
      end.resolve();
      await expect.poll(() => existsSync(join(records.folder('u', 0), 'ranOut'))).toBe(true);
      rmSync(group, { recursive: true });
      isAlive = false;
    },
  };
  const backend = { engine: new Engine('/nowhere'), dialect, surroundings: ending };
  const options = { directory, isolation: 'full', processes: 1, log: { files: 1, bytes: 1 }, gpuNames: 'none' } as const;
  await using driver = new ContainerDriver({ ...options, backend });
  if (isDeletedEarly) await driver.changed('u', 0, AbortSignal.timeout(5_000));
  return driver.find('u', 0);
}

test.each([
  ['killed for its use of memory', ended, 1, 'OutOfMemory'],
  ['killed by somebody', ended, 0, 'Error'],
  ['whose engine knows it', { ...ended, outOfMemory: true }, 0, 'OutOfMemory'],
  ['that went on after one of its processes was killed', { ...ended, code: 3 }, 1, 'Error'],
])('a program %s has the right reason, although its cgroup is gone', async (_title, box, kills, reason) => {
  expect(await endOf(box, kills)).toMatchObject({ phase: 'exited', code: box.code, reason });
});

test('a program that ran out of memory has the right reason, although its cgroup is gone before anybody asks for it', async () => {
  expect(await endOf(ended, 1, { isDeletedEarly: true })).toMatchObject({ phase: 'exited', reason: 'OutOfMemory' });
});

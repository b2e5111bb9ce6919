import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { UnitRoom } from '../driver.ts';
import type { BoxState, Dialect } from './dialect.ts';
import { ContainerDriver } from './driver.ts';
import { Engine, EngineError } from './engine.ts';
import type { Surroundings } from './surroundings.ts';

let directory: string;
let steps: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-start-'));
  steps = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const shared = { allocation: 'a', hostname: 'h', environment: {}, mounts: [], tty: false, cpu: 0, memory: 0, devices: [] };
const room: UnitRoom = { ...shared, id: 'u', image: 'localhost/unit:1', command: ['true'], network: 'None' };
const box: BoxState = {
  ...{ id: 'c', phase: 'created', pid: process.pid, code: 0, outOfMemory: false, startedAt: '', finishedAt: '' },
  ...{ tty: false, labels: { 'dev.capstan.allocation': 'a' }, volumes: [] },
};

/** An engine and surroundings that write down what they are asked for. */
function driverWith({
  failing,
  ready = async () => ({}),
}: {
  readonly failing?: string;
  readonly ready?: () => Promise<object>;
}): ContainerDriver {
  const step = async (name: string): Promise<void> => {
    steps.push(name);
    if (name === failing) throw new EngineError(500, `${name} fails`);
  };
  class RecordingEngine extends Engine {
    override async call<T>({ path }: Parameters<Engine['call']>[0]): Promise<T> {
      await step(path.split('/').at(-1)!);
      return undefined as T;
    }
  }
  const dialect: Dialect = {
    engine: 'Podman',
    prefix: '',
    pullPrefix: '',
    create: () => step('create'),
    init: () => step('init'),
    inspect: async () => box,
    hasImage: async () => true,
    remove: () => step('remove'),
    createIdle: async () => {},
    output: () => ({ keep: () => {}, files: async () => ['output'], finish: async () => {}, close: () => {} }),
  };
  const surroundings: Surroundings = {
    prepare: async () => {},
    open: async () => ({ namespaces: { network: { path: '/n' }, processes: { path: '/p' } }, ready: ready() }),
    follow: () => step('follow'),
    isAlive: async () => true,
    address: async () => undefined,
    ended: async () => {},
    changed: async () => {},
    end: () => step('end'),
    connect: () => Promise.reject(new Error('there are no ports')),
    remove: async () => {},
    list: async () => [],
  };
  const backend = { engine: new RecordingEngine('/nowhere'), dialect, surroundings };
  return new ContainerDriver({ directory, isolation: 'full', processes: 1, log: { files: 1, bytes: 1 }, gpuNames: 'none', backend });
}

test('a program starts when its namespaces are ready and everybody who waits for its end follows its process', async () => {
  const ready = Promise.withResolvers<object>();
  await using driver = driverWith({ ready: () => ready.promise });
  const started = driver.start(room, 0);
  await expect.poll(() => steps).toEqual(['create']);
  ready.resolve({});
  await started;
  expect(steps).toEqual(['create', 'init', 'follow', 'start']);
  expect(await driver.find('u', 0)).toMatchObject({ phase: 'running', pid: process.pid, startedAt: expect.stringMatching(/^\d{4}-/) });
  expect(await driver.log('u', 0)).toEqual({ files: ['output'], complete: false });
});

test.each(['create', 'init', 'follow', 'start'])('nothing is left of a start whose step %s fails', async (failing) => {
  await using driver = driverWith({ failing });
  await expect(driver.start(room, 0)).rejects.toThrow(`${failing} fails`);
  expect(steps.slice(-2)).toEqual(['remove', 'end']);
  expect(existsSync(join(directory, 'u', '0'))).toBe(false);
});

test('a start whose namespaces cannot be made is removed after its container was created', async () => {
  await using driver = driverWith({ ready: () => Promise.reject(new Error('no namespaces')) });
  await expect(driver.start(room, 0)).rejects.toThrow('no namespaces');
  expect(steps).toEqual(['create', 'remove', 'end']);
});

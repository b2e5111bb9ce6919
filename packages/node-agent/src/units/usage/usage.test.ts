import type { GpuReading, NodeUnitSpec } from '@capstan/api';
import { beforeEach, expect, test } from 'vitest';
import { defaultTimes } from '../engine/times.ts';
import type { UnitRun } from '../engine/unit-run.ts';
import { FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';
import { UsageSampler } from './usage.ts';

const driver = new FakeDriver();
let [now, cpuSeconds] = [0, 0];
let idle: string | undefined;
let gpus: GpuReading[];
beforeEach(() => {
  [now, cpuSeconds, idle, gpus] = [Date.UTC(2031, 0, 1), 0, undefined, []];
  driver.onUsage = () => ({ cpuSeconds, memoryBytes: 4096 });
});

function sampler(spec: Partial<NodeUnitSpec>): UsageSampler {
  const { spec: full } = nodeUnit('u-1', spec);
  const record = { name: 'u-1', spec: full, incarnation: 0 };
  const run = { record, live: { room: {} }, setIdle: (since: string | undefined) => void (idle = since) } as unknown as UnitRun;
  const engine = { runs: [run].values(), driverOf: () => driver };
  Object.defineProperty(engine, 'runs', { get: () => [run].values() });
  return new UsageSampler({ engine, readings: () => gpus, times: defaultTimes, now: () => now });
}
const reading = (uuid: string, more: Partial<GpuReading>): GpuReading => ({ uuid, throttle: [], unreadable: [], processes: [], ...more });
async function pass(sampling: UsageSampler, seconds: number, cores: number): Promise<void> {
  now += seconds * 1_000;
  cpuSeconds += seconds * cores;
  await sampling.look();
}

test('the use of a unit is an average between two looks, with its GPUs', async () => {
  const sampling = sampler({ devices: ['GPU-1', 'MIG-1'] });
  const processes = [
    { pid: 1, migDevice: 'MIG-1', memoryBytes: 7, utilizationPercent: 20 },
    { pid: 2, migDevice: 'MIG-1', memoryBytes: 8 },
    { pid: 3, migDevice: 'MIG-2', memoryBytes: 9 },
  ];
  gpus = [reading('GPU-1', { utilizationPercent: 93, memoryUsedBytes: 5 }), reading('GPU-2', { utilizationPercent: 1, processes })];
  await sampling.look();
  expect(sampling.usage).toEqual([]);
  await pass(sampling, 15, 2.5);
  expect(sampling.usage).toMatchObject([
    {
      name: 'u-1',
      cpuMillis: 2_500,
      memoryBytes: 4_096,
      window: 15_000,
      gpus: [
        { uuid: 'GPU-1', utilizationPercent: 93, memoryUsedBytes: 5 },
        { uuid: 'MIG-1', utilizationPercent: 20, memoryUsedBytes: 15 },
      ],
    },
  ]);
});

test.each([
  ['a processor that does nothing', [], 0.005, true],
  ['a processor that does something', [], 0.02, false],
  ['a GPU that does nothing, and a busy processor', [{ utilizationPercent: 0 }], 4, true],
  ['a GPU that works', [{ utilizationPercent: 30 }], 0, false],
  ['a GPU that says nothing, and a busy processor', [{}], 4, false],
] as const)('a unit with %s is idle or not', async (_, readings, cores, isIdle) => {
  const sampling = sampler({ devices: readings.map((_one, at) => `GPU-${at}`) });
  gpus = readings.map((more, at) => reading(`GPU-${at}`, more));
  await sampling.look();
  await pass(sampling, 15, cores);
  const since = new Date(now).toISOString();
  await pass(sampling, 285, cores);
  expect(idle).toBeUndefined();
  await pass(sampling, 15, cores);
  expect(idle).toBe(isIdle ? since : undefined);
  await pass(sampling, 15, cores);
  gpus = readings.map((_more, at) => reading(`GPU-${at}`, { utilizationPercent: 100 }));
  await pass(sampling, 15, 4);
  expect(idle).toBeUndefined();
});

test('a short idleTimeout is reported as soon as it is over, a long one after five minutes', async () => {
  const short = sampler({ idleTimeout: '40s' });
  await short.look();
  await pass(short, 15, 0);
  const since = new Date(now).toISOString();
  await pass(short, 30, 0);
  expect(idle).toBeUndefined();
  await pass(short, 15, 0);
  expect(idle).toBe(since);
  const long = sampler({ idleTimeout: '2h' });
  await long.look();
  await pass(long, 15, 0);
  const later = new Date(now).toISOString();
  await pass(long, 300, 0);
  expect(idle).toBe(later);
});

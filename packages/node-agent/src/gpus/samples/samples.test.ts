import type { GpuReading } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHistory, encodeHistory } from './file.ts';
import { GpuHistory } from './history.ts';
import { Ring } from './ring.ts';

const reading = (change: Partial<GpuReading> = {}): GpuReading => ({
  uuid: 'GPU-1',
  utilizationPercent: 50,
  memoryUsedBytes: 1024 * 1024,
  temperatureCelsius: 40,
  powerWatts: 100,
  throttle: [],
  unreadable: [],
  processes: [],
  ...change,
});

describe('Ring', () => {
  test('keeps the newest rows in order, whatever its capacity', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(500), fc.integer({ min: -10, max: 510 }), (capacity, count, from) => {
        const ring = new Ring(capacity, 1);
        for (let at = 0; at < count; at++) ring.push(at, [at]);
        const found: number[] = [];
        ring.between(from, 400, (at, [value]) => {
          expect(value).toBe(at);
          found.push(at);
        });
        const expected = Array.from({ length: count }, (_, at) => at)
          .slice(-capacity)
          .filter((at) => at >= from && at < 400);
        expect(found).toEqual(expected);
      }),
    );
  });

  test('forgets rows from the future when the clock is set back', () => {
    const ring = new Ring(10, 1);
    for (const at of [10, 20, 4_000_000_000]) ring.push(at, [at]);
    ring.push(15, [1]);
    const times: number[] = [];
    ring.between(0, Number.POSITIVE_INFINITY, (at) => times.push(at));
    expect(times).toEqual([10, 15]);
    expect(ring.last).toBe(15);
  });
});

describe('GpuHistory', () => {
  test('answers ranges in steps, with means and maxima', () => {
    const history = new GpuHistory();
    history.add(1000, [reading({ utilizationPercent: 10, powerWatts: 100 })]);
    history.add(2000, [reading({ utilizationPercent: 30, powerWatts: 300 })]);
    history.add(12_000, [reading({ utilizationPercent: 90 })]);
    expect(history.range('GPU-1', { from: 0, to: 20_000, step: 10_000 })).toEqual([
      {
        at: 0,
        samples: 2,
        utilizationPercent: { mean: 20, max: 30 },
        memoryUsedBytes: { mean: 1_048_576, max: 1_048_576 },
        temperatureCelsius: { mean: 40, max: 40 },
        powerWatts: { mean: 200, max: 300 },
      },
      expect.objectContaining({ at: 10_000, samples: 1, utilizationPercent: { mean: 90, max: 90 } }),
    ]);
    expect(history.range('GPU-2', { from: 0, to: 20_000, step: 10_000 })).toEqual([]);
  });

  test('leaves out numbers that the card does not report', () => {
    const history = new GpuHistory();
    history.add(1000, [{ uuid: 'GPU-1', throttle: [], unreadable: [], processes: [], temperatureCelsius: -5 }]);
    expect(history.range('GPU-1', { from: 0, to: 5000, step: 5000 })).toEqual([
      { at: 0, samples: 1, temperatureCelsius: { mean: -5, max: -5 } },
    ]);
  });

  test('knows which processes used a card when', () => {
    const history = new GpuHistory();
    history.add(1000, [reading({ processes: [{ pid: 7, memoryBytes: 2 * 1024 * 1024, utilizationPercent: 99 }, { pid: 4_194_304 }] })]);
    history.add(2000, [reading()]);
    expect(history.processes('GPU-1', { from: 0, to: 5000 })).toEqual([
      { at: 1000, pid: 7, memoryBytes: 2 * 1024 * 1024, utilizationPercent: 99 },
      { at: 1000, pid: 4_194_304 },
    ]);
  });

  test('is bounded in time and in cards', () => {
    const history = new GpuHistory({ keep: 10_000, interval: 1000, maxGpus: 2, processesPerGpu: 1 });
    for (let at = 0; at < 100_000; at += 1000) history.add(at, [reading({ processes: [{ pid: 1 }, { pid: 2 }] })]);
    expect(history.range('GPU-1', { from: 0, to: 100_000, step: 1000 }).map(({ at }) => at)[0]).toBe(90_000);
    expect(history.processes('GPU-1', { from: 0, to: 100_000 })).toHaveLength(10);
    history.add(100_000, [reading({ uuid: 'GPU-2' })]);
    history.add(101_000, [reading({ uuid: 'GPU-3' })]);
    expect([...history.gpus.keys()]).toEqual(['GPU-2', 'GPU-3']);
  });

  test.each([
    { from: 0, to: 10, step: 0 },
    { from: 10, to: 10, step: 1 },
    { from: 0, to: 1e9, step: 1 },
    { from: 0, to: Number.NaN, step: 1 },
  ])('rejects the range %o', (range) => {
    expect(() => new GpuHistory().range('GPU-1', range)).toThrow(RangeError);
  });
});

describe('a stored history', () => {
  const history = new GpuHistory();
  for (let at = 0; at < 50_000; at += 500)
    history.add(at, [reading({ utilizationPercent: at % 100, processes: [{ pid: at + 1 }] }), reading({ uuid: 'GPU-2' })]);
  const bytes = encodeHistory(history);

  test('is the same after a restart', () => {
    const restored = decodeHistory(bytes);
    const range = { from: 0, to: 50_000, step: 1000 };
    for (const uuid of ['GPU-1', 'GPU-2']) expect(restored.range(uuid, range)).toEqual(history.range(uuid, range));
    expect(restored.processes('GPU-1', range)).toEqual(history.processes('GPU-1', range));
  });

  test('is rejected when it is cut or spoiled', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), (length) => {
        expect(() => decodeHistory(bytes.subarray(0, length))).toThrow();
      }),
    );
    for (const text of [
      '',
      '{}\n',
      'null\n',
      '{"format":"capstan-gpu-samples-1","gpus":[null]}\n',
      '{"format":"capstan-gpu-samples-1","gpus":[{"uuid":"x","readings":-1,"processes":0}]}\n',
    ]) {
      expect(() => decodeHistory(Buffer.from(text))).toThrow();
    }
  });
});

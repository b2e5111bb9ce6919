import { describe, expect, test } from 'vitest';
import { fixture } from '../testing.ts';
import { parseNvidiaSample } from './samples.ts';

const loaded = {
  query: fixture('nvidia-h200-loaded/query.csv'),
  processes: fixture('nvidia-h200-loaded/compute-apps.csv'),
  processUse: fixture('nvidia-h200-loaded/pmon.txt'),
};

describe('parseNvidiaSample', () => {
  test('reads a loaded H200 and its process (recorded)', () => {
    expect(parseNvidiaSample(loaded)).toEqual([
      {
        uuid: 'GPU-22222222-3333-4444-5555-666666666666',
        utilizationPercent: 100,
        memoryUtilizationPercent: 23,
        memoryUsedBytes: 9075 * 1024 * 1024,
        temperatureCelsius: 65,
        memoryTemperatureCelsius: 47,
        powerWatts: 692.07,
        smClockMegahertz: 1485,
        memoryClockMegahertz: 3201,
        throttle: ['software-power-cap'],
        unreadable: [],
        processes: [{ pid: 457, name: 'python3', memoryBytes: 9066 * 1024 * 1024, utilizationPercent: 99 }],
      },
    ]);
  });

  test('reads an idle H200 (recorded)', () => {
    const [reading] = parseNvidiaSample({ query: fixture('nvidia-h200/query.csv'), processes: fixture('nvidia-h200/compute-apps.csv') });
    expect(reading).toMatchObject({ utilizationPercent: 0, powerWatts: 89.75, throttle: [], processes: [] });
  });

  test('keeps commas in the names of processes', () => {
    const processes = loaded.processes.replace('python3', '/opt/a, b/train');
    expect(parseNvidiaSample({ ...loaded, processes })[0]!.processes[0]!.name).toBe('/opt/a, b/train');
  });

  test('attributes the processes of MIG devices to their card', () => {
    const processes = loaded.processes.replace('GPU-22222222-3333-4444-5555-666666666666', 'MIG-1');
    const parents = new Map([['MIG-1', 'GPU-22222222-3333-4444-5555-666666666666']]);
    expect(parseNvidiaSample({ ...loaded, processes, parents })[0]!.processes[0]).toMatchObject({ pid: 457, migDevice: 'MIG-1' });
  });

  test('names the fields that cannot be read', () => {
    const query = loaded.query.replace(', 65, ', ', [Unknown Error], ').replace(', 692.07, ', ', [N/A], ');
    const [reading] = parseNvidiaSample({ ...loaded, query });
    expect(reading!.unreadable).toEqual(['temperature.gpu']);
    expect(reading).not.toHaveProperty('powerWatts');
  });

  test('leaves out lost cards', () => {
    const query = `Unable to determine the device handle for GPU1: 0000:0A:00.0: GPU is lost.  Reboot the system\n${loaded.query}`;
    expect(parseNvidiaSample({ ...loaded, query })).toHaveLength(1);
  });

  test.each([
    ['an unknown field (recorded)', fixture('nvidia-broken/bad-field.txt'), 'UnknownField'],
    ['a row that is cut', loaded.query.slice(0, -20), 'Incomplete'],
    ['an invalid uuid', loaded.query.replace('GPU-2', 'XPU-2'), 'Malformed'],
    ['nothing', '', 'Incomplete'],
  ])('rejects %s', (_, query, code) => {
    expect(() => parseNvidiaSample({ ...loaded, query })).toThrow(expect.objectContaining({ code }) as Error);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GpuError } from '../errors.ts';
import { fixture } from '../testing.ts';
import { type AmdOutputs, parseAmdReport } from './amd-smi.ts';
import { parseRocmReport } from './rocm-smi.ts';

// All outputs in fixtures/amd follow AMD's documentation; none was recorded.
const outputs: AmdOutputs = {
  list: fixture('amd/list.json'),
  static: fixture('amd/static.json'),
  metric: fixture('amd/metric.json'),
  process: fixture('amd/process.json'),
  topology: fixture('amd/topology.json'),
  version: fixture('amd/version.json'),
  renderNodes: new Map([['0000:75:00.0', '/dev/dri/renderD152']]),
  observedAt: 1_000,
};
const rocm = fixture('amd/rocm-smi.json');
const failsWith = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('amd-smi', () => {
  const report = parseAmdReport(outputs);

  test('describes eight MI300X', () => {
    expect(report).toMatchObject({ source: 'amd', driverVersion: '6.12.12', runtime: { name: 'ROCm', version: '6.4.0' } });
    expect(report.gpus).toHaveLength(8);
    expect(report.gpus[3]).toEqual({
      uuid: 'GPU-a1b2c3d4e5f60003',
      model: 'MI300X',
      productName: 'AMD Instinct MI300X',
      memoryBytes: 196_592 * 1024 * 1024,
      pciBusId: '0000:75:00.0',
      minor: 152,
      deviceFiles: ['/dev/kfd', '/dev/dri/renderD152'],
      numaNode: 0,
      mig: { mode: 'unsupported', devices: [] },
      ecc: { mode: 'enabled', volatile: { correctable: 0, uncorrectable: 0 } },
      repairs: { pending: false, failed: false },
      recoveryAction: 'unknown',
    });
  });

  test('reads the busy card and its process', () => {
    expect(report.readings[3]).toEqual({
      uuid: 'GPU-a1b2c3d4e5f60003',
      utilizationPercent: 97,
      memoryUtilizationPercent: 41,
      memoryUsedBytes: 65_822 * 1024 * 1024,
      temperatureCelsius: 71,
      memoryTemperatureCelsius: 55,
      powerWatts: 702,
      smClockMegahertz: 2103,
      memoryClockMegahertz: 900,
      throttle: ['software-power-cap'],
      unreadable: [],
      processes: [{ pid: 213_952, name: '/usr/bin/python3.12', memoryBytes: 68_719_476_736 }],
    });
    expect(report.readings[0]!.processes).toEqual([]);
  });

  test('finds the group of cards that are connected by XGMI', () => {
    expect(report.linkGroups).toEqual([{ kind: 'XGMI', gpus: report.gpus.map(({ uuid }) => uuid) }]);
  });

  test('accepts the lists of older versions', () => {
    const unwrapped = JSON.stringify((JSON.parse(outputs.static) as { gpu_data: unknown }).gpu_data);
    expect(parseAmdReport({ ...outputs, static: unwrapped }).gpus).toEqual(report.gpus);
  });

  test('names partitions of one card by their uuids', () => {
    const shared = outputs.static.replaceAll(/0xA1B2C3D4E5F6000\d/g, '0xA1B2C3D4E5F60000');
    expect(parseAmdReport({ ...outputs, static: shared }).gpus[1]!.uuid).toBe('01ff74a1-0000-1000-8000-000000000001');
  });

  test.each<[string, Partial<AmdOutputs>, string]>([
    ['output that is cut', { static: outputs.static.slice(0, 5000) }, 'Incomplete'],
    ['a command that shows fewer cards', { metric: '{"gpu_data": []}' }, 'Incomplete'],
    ['an empty list', { list: '[]' }, 'NoDevices'],
    ['a card without memory', { static: outputs.static.replace('196592', '"N/A"') }, 'Malformed'],
    ['a card twice', { list: outputs.list.replace('"gpu": 1', '"gpu": 0') }, 'Malformed'],
    ['a missing driver', { list: 'AMDSMI_STATUS_DRIVER_NOT_LOADED' }, 'DriverUnavailable'],
    ['nothing', { list: '' }, 'Incomplete'],
  ])('rejects %s', (_, change, code) => {
    expect(() => parseAmdReport({ ...outputs, ...change })).toThrow(failsWith(code));
  });

  test('skips processes and links that are no objects', () => {
    const odd = parseAmdReport({
      ...outputs,
      process: '[{"gpu": 0, "process_list": [null, 1]}]',
      topology: '[{"gpu": 0, "links": [null, 1]}]',
    });
    expect(odd.readings[0]!.processes).toEqual([]);
    expect(odd.linkGroups).toEqual([]);
  });

  test('answers any JSON with a report or a GpuError', () => {
    fc.assert(
      fc.property(fc.constantFrom('list', 'static', 'metric', 'process', 'topology', 'version'), fc.json(), (name, text) => {
        try {
          parseAmdReport({ ...outputs, [name]: text });
        } catch (error) {
          expect(error).toBeInstanceOf(GpuError);
        }
      }),
    );
  });
});

describe('rocm-smi', () => {
  test('gives cards the same names as amd-smi', () => {
    const { gpus, readings } = parseRocmReport({ output: rocm, observedAt: 1_000 });
    expect(gpus.map(({ uuid, model, pciBusId, numaNode }) => ({ uuid, model, pciBusId, numaNode }))).toEqual(
      parseAmdReport(outputs).gpus.map(({ uuid, model, pciBusId, numaNode }) => ({ uuid, model, pciBusId, numaNode })),
    );
    expect(readings[3]).toMatchObject({ utilizationPercent: 97, memoryUsedBytes: 69_019_369_472, temperatureCelsius: 71, powerWatts: 702 });
  });

  test.each([
    ['{}, which it prints when it fails', '{}', 'NoDevices'],
    ['output that is cut', rocm.slice(0, 3000), 'Incomplete'],
    ['a card without an id', rocm.replace('Unique ID', 'No ID'), 'Malformed'],
    ['a missing driver', 'Driver not initialized (amdgpu not found in modules)', 'DriverUnavailable'],
  ])('rejects %s', (_, output, code) => {
    expect(() => parseRocmReport({ output, observedAt: 1 })).toThrow(failsWith(code));
  });
});

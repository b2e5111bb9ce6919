import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GpuError } from '../errors.ts';
import { fixture } from '../testing.ts';
import { parseNvidiaReport } from './report.ts';

const at = 1_000;
const report = (query: string, more: { topology?: string; list?: string } = {}): ReturnType<typeof parseNvidiaReport> =>
  parseNvidiaReport({ query, ...more, observedAt: at });
const codeOf = (query: string): string => {
  try {
    report(query);
  } catch (error) {
    return error instanceof GpuError ? error.code : String(error);
  }
  return 'none';
};

describe('a real H200', () => {
  const idle = report(fixture('nvidia-h200/nvidia-smi-q.xml'), { topology: fixture('nvidia-h200/nvidia-smi-topo.txt') });
  const loaded = report(fixture('nvidia-h200-loaded/nvidia-smi-q.xml'));

  test('is described completely', () => {
    expect(idle).toMatchObject({
      source: 'nvidia',
      driverVersion: '580.159.04',
      runtime: { name: 'CUDA', version: '13.0' },
      unreachable: [],
    });
    expect(idle.gpus).toEqual([
      {
        uuid: 'GPU-11111111-2222-3333-4444-555555555555',
        model: 'H200',
        productName: 'NVIDIA H200',
        memoryBytes: 143_771 * 1024 * 1024,
        pciBusId: '0000:00:06.0',
        minor: 0,
        deviceFiles: ['/dev/nvidia0'],
        numaNode: 0,
        mig: { mode: 'disabled', devices: [] },
        ecc: {
          mode: 'enabled',
          volatile: { correctable: 0, uncorrectable: 0 },
          lifetime: { correctable: 0, uncorrectable: 0 },
          sramThresholdExceeded: false,
        },
        repairs: { remappedRows: 0, pending: false, failed: false },
        recoveryAction: 'none',
      },
    ]);
    expect(idle.linkGroups).toEqual([]);
  });

  test('has readings when it is idle', () => {
    expect(idle.readings).toEqual([
      {
        uuid: 'GPU-11111111-2222-3333-4444-555555555555',
        utilizationPercent: 0,
        memoryUtilizationPercent: 0,
        memoryUsedBytes: 0,
        temperatureCelsius: 43,
        memoryTemperatureCelsius: 43,
        powerWatts: 133.71,
        smClockMegahertz: 1980,
        memoryClockMegahertz: 3201,
        throttle: [],
        unreadable: [],
        processes: [],
      },
    ]);
  });

  test('shows the process and the power cap under load', () => {
    expect(loaded.readings[0]).toMatchObject({
      utilizationPercent: 100,
      memoryUsedBytes: 9075 * 1024 * 1024,
      throttle: ['software-power-cap'],
      processes: [{ pid: 457, name: 'python3', memoryBytes: 9066 * 1024 * 1024 }],
    });
  });

  test('counts errors of its lifetime apart from those since the driver was loaded', () => {
    expect(loaded.gpus[0]!.ecc).toMatchObject({ volatile: { uncorrectable: 0 }, lifetime: { correctable: 1, uncorrectable: 25 } });
    expect(loaded.gpus[0]!.repairs).toEqual({ remappedRows: 1, pending: false, failed: false });
  });
});

describe('eight H100', () => {
  const { gpus, linkGroups } = report(fixture('nvidia-h100x8/nvidia-smi-q.xml'), { topology: fixture('nvidia-h100x8/topo.txt') });

  test('form one NVLink group', () => {
    expect(linkGroups).toEqual([{ kind: 'NVLink', gpus: gpus.map(({ uuid }) => uuid), links: 18 }]);
  });

  test('have their own minor numbers, which are not their indices', () => {
    expect(gpus.map(({ minor }) => minor)).toEqual([2, 3, 0, 1, 6, 7, 4, 5]);
    expect(gpus[0]).toMatchObject({ model: 'H100', deviceFiles: ['/dev/nvidia2'], pciBusId: '0000:1b:00.0', numaNode: 0 });
  });

  test('need a topology of as many GPUs', () => {
    expect(() => report(fixture('nvidia-h100x8/nvidia-smi-q.xml'), { topology: fixture('nvidia-h200/nvidia-smi-topo.txt') })).toThrow(
      'describes 8 GPUs and topo -m 1',
    );
  });
});

describe('MIG', () => {
  const query = fixture('nvidia-mig/nvidia-smi-q.xml');

  test('devices have the uuid and the profile of nvidia-smi -L', () => {
    const { gpus, readings } = report(query, { list: fixture('nvidia-mig/list.txt') });
    expect(gpus[0]!.mig).toEqual({
      mode: 'enabled',
      devices: [
        {
          uuid: 'MIG-11111111-1111-5111-8111-111111111111',
          profile: '3g.40gb',
          memoryBytes: 40_448 * 1024 * 1024,
          parent: gpus[0]!.uuid,
          gpuInstance: 2,
          computeInstance: 0,
        },
        {
          uuid: 'MIG-22222222-2222-5222-8222-222222222222',
          profile: '2g.20gb',
          memoryBytes: 20_096 * 1024 * 1024,
          parent: gpus[0]!.uuid,
          gpuInstance: 9,
          computeInstance: 0,
        },
      ],
    });
    expect(gpus[1]!.mig).toEqual({ mode: 'disabled', devices: [] });
    expect(readings[0]!.processes).toEqual([
      {
        pid: 4711,
        name: '/usr/bin/python3 "a & b"',
        memoryBytes: 298 * 1024 * 1024,
        migDevice: 'MIG-11111111-1111-5111-8111-111111111111',
      },
    ]);
  });

  test('devices without a name are an error', () => {
    expect(() => report(query)).toThrow('nvidia-smi -L has not');
    expect(() => report(query, { list: fixture('nvidia-mig/list.txt').replace(/.*Device {2}1.*\n/, '') })).toThrow('MIG device 1');
  });
});

describe('broken cards', () => {
  test('a lost card is named beside the others', () => {
    const { gpus, unreachable } = report(fixture('nvidia-broken/lost-of-8.xml'));
    expect(gpus).toHaveLength(7);
    expect(unreachable).toEqual([{ pciBusId: '0000:61:00.0', why: 'GPU is lost. Reboot the system to recover this GPU' }]);
  });

  test('a lost card is named when nothing is said of the others', () => {
    expect(() => report(fixture('nvidia-broken/lost-only.txt'))).toThrow(
      expect.objectContaining({ code: 'Unreachable', unreachable: [expect.objectContaining({ pciBusId: '0000:61:00.0' })] }) as Error,
    );
  });

  test('a card without a readable uuid is unreachable, not a card', () => {
    const { gpus, unreachable } = report(fixture('nvidia-broken/unidentified.xml'));
    expect(gpus).toHaveLength(1);
    expect(unreachable).toEqual([{ pciBusId: '0000:43:00.0', why: 'its uuid is "[GPU requires reset]"' }]);
  });

  test('fields with errors are named, and the rest is read', () => {
    const { gpus, readings } = report(fixture('nvidia-broken/err-values.xml'));
    expect(readings[1]!.unreadable).toEqual([
      'utilization/gpu_util',
      'utilization/memory_util',
      'temperature/gpu_temp',
      'temperature/memory_temp',
      'gpu_power_readings/average_power_draw',
    ]);
    expect(readings[1]).not.toHaveProperty('temperatureCelsius');
    expect(gpus[1]!.recoveryAction).toBe('reset');
    expect(readings[0]!.unreadable).toEqual([]);
  });
});

describe('output that is no inventory', () => {
  const whole = fixture('nvidia-h100x8/nvidia-smi-q.xml');

  test.each([
    ['no devices (recorded)', fixture('nvidia-broken/no-devices.txt'), 'NoDevices'],
    ['no driver (recorded)', fixture('nvidia-broken/nvml-blocked.txt'), 'DriverUnavailable'],
    ['nothing', '', 'Incomplete'],
    ['something else', 'Segmentation fault (core dumped)', 'Malformed'],
    ['fewer GPUs than are attached', whole.replace(/\t<gpu id="00000000:43[\s\S]*?<\/gpu>\n/, ''), 'Incomplete'],
    ['one GPU twice', whole.replaceAll('GPU-00000001-', 'GPU-00000002-'), 'Malformed'],
    ['another document', '<?xml version="1.0"?><html></nvidia_smi_log></html>', 'Malformed'],
  ])('is an error: %s', (_, text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('is an error wherever it is cut', () => {
    const end = whole.lastIndexOf('</nvidia_smi_log>');
    fc.assert(fc.property(fc.integer({ min: 0, max: end }), (length) => codeOf(whole.slice(0, length)) !== 'none'));
  });

  test('never crashes, whatever is changed', () => {
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(40), fc.string(), (start, length, text) => {
        const changed = whole.slice(0, start) + text + whole.slice(start + length);
        try {
          const { gpus, unreachable } = report(changed);
          expect(gpus.length + unreachable.length).toBeGreaterThanOrEqual(Number(/<attached_gpus>(\d+)</.exec(changed)?.[1]));
        } catch (error) {
          expect(error).toBeInstanceOf(GpuError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

import type { Gpu, GpuHealthState, GpuStatus } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { addressesOf, describeMachine, systemName } from './machine.ts';
import { nodeStatus, summaryOf } from './node-status.ts';

const machine = await describeMachine('1');
const gpu = (uuid: string, more: Partial<Gpu> = {}): Gpu => ({
  uuid,
  model: 'H200',
  productName: 'NVIDIA H200',
  memoryBytes: 141 * 1024 ** 3,
  deviceFiles: ['/dev/nvidia0'],
  mig: { mode: 'disabled', devices: [] },
  ecc: { mode: 'enabled' },
  repairs: { pending: false, failed: false },
  recoveryAction: 'none',
  ...more,
});
const card = (uuid: string, state: GpuHealthState = 'Healthy', more: Partial<Gpu> = {}): GpuStatus => ({
  uuid,
  health: { state, reason: 'Because', message: `${uuid} is ${state}`, since: Date.UTC(2031, 0, 1) },
  gpu: gpu(uuid, more),
});
const facts = (gpus: readonly GpuStatus[]) => ({
  machine,
  addresses: [],
  inventories: [],
  gpus,
  unitDrivers: [],
  startedAt: '2030-01-01T00:00:00Z',
});
const healthy = (...gpus: GpuStatus[]) => nodeStatus(facts(gpus)).conditions?.find(({ type }) => type === 'GPUsHealthy');

describe('the status of a node', () => {
  test('counts GPUs by model', () => {
    expect(summaryOf([])).toBe('none');
    expect(summaryOf([card('a'), card('b'), card('c', 'Healthy', { model: 'L4' })])).toBe('2×H200 1×L4');
    const { gpu: _, ...unread } = card('d', 'Missing');
    expect(summaryOf([unread])).toBe('1×unknown');
  });

  test('names the groups of GPUs that are linked', () => {
    const inventories = [
      {
        source: 'nvidia',
        driverVersion: '580',
        runtime: { name: 'CUDA', version: '13.0' },
        gpus: [],
        unreachable: [],
        linkGroups: [
          { kind: 'NVLink', gpus: ['a', 'b'] },
          { kind: 'NVLink', gpus: ['c', 'd'] },
        ],
      } as const,
    ];
    const status = nodeStatus({ ...facts(['a', 'b', 'c', 'e'].map((uuid) => card(uuid))), inventories });
    expect(status.gpus?.map(({ linkGroup }) => linkGroup)).toEqual(['nvlink-0', 'nvlink-0', 'nvlink-1', undefined]);
    expect(status.drivers).toEqual([{ source: 'nvidia', version: '580', runtime: 'CUDA 13.0' }]);
  });

  test('leaves out a NUMA node that the driver does not know', () => {
    const { gpus } = nodeStatus(facts([card('a', 'Healthy', { numaNode: -1 }), card('b', 'Healthy', { numaNode: 0 })]));
    expect(gpus?.map(({ numaNode }) => numaNode)).toEqual([undefined, 0]);
  });

  test.each([
    ['True', 'AllHealthy', [card('a'), card('b', 'Degraded')]],
    ['True', 'NoGPUs', []],
    ['False', 'GPUFailed', [card('a'), card('b', 'Failed')]],
    ['False', 'GPUMissing', [card('a', 'Missing'), card('b', 'Unknown')]],
    ['Unknown', 'GPUsNotObserved', [card('a', 'Unknown'), card('b')]],
  ] as const)('says %s, %s', (status, reason, gpus) => {
    expect(healthy(...gpus)).toMatchObject({ status, reason });
  });
});

describe('the machine', () => {
  test('has a system and a kernel', () => {
    expect(machine).toMatchObject({ agentVersion: '1', os: expect.stringMatching(/./), kernel: expect.stringMatching(/./) });
    expect(systemName('NAME=x\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n')).toBe('Ubuntu 24.04.2 LTS');
    expect(systemName('NAME=x\nPRETTY_NAME=Alpine\n')).toBe('Alpine');
    expect(systemName('')).toBeUndefined();
  });

  test('has addresses of its own, in an order that does not change', () => {
    const address = (text: string, internal = false) => ({
      address: text,
      netmask: '',
      family: 'IPv4' as const,
      mac: '',
      internal,
      cidr: null,
    });
    const interfaces = {
      lo: [address('127.0.0.1', true)],
      eth1: [address('10.0.0.2'), address('fe80::1')],
      docker0: [address('172.17.0.1')],
      eth0: [address('10.0.0.1')],
    };
    expect(addressesOf(interfaces)).toEqual([
      { interface: 'eth0', address: '10.0.0.1' },
      { interface: 'eth1', address: '10.0.0.2' },
    ]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { RoomDevice, UnitRoom } from '../driver.ts';
import { boxDevices } from './devices.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-cdi-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'nvidia.yaml'), 'cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: GPU-1\n- name: GPU-22\n');

const gpu = (uuid: string, vendor: RoomDevice['vendor'] = 'nvidia'): RoomDevice => ({ uuid, vendor, files: ['/dev/null'] });
const room = (...devices: RoomDevice[]): UnitRoom => ({
  ...{ id: 'x', allocation: 'x', hostname: 'x', image: 'x', command: [], environment: {}, mounts: [], network: 'None' },
  ...{ tty: false, cpu: 0, memory: 0, devices },
});

test('GPUs go by name if the node describes all of them by UUID', async () => {
  expect(await boxDevices(room(gpu('GPU-1'), gpu('GPU-22')), { folders: [folder] })).toEqual([
    'nvidia.com/gpu=GPU-1',
    'nvidia.com/gpu=GPU-22',
  ]);
});

test('and as files otherwise; a part of a name is no name', async () => {
  expect(await boxDevices(room(gpu('GPU-1'), gpu('GPU-2')), { folders: [folder] })).toContain('/dev/null');
  expect(await boxDevices(room(gpu('GPU-1', 'amd')), { folders: [folder] })).toContain('/dev/null');
  expect(await boxDevices(room(gpu('GPU-1')), { folders: [] })).toContain('/dev/null');
  expect(await boxDevices(room(), { folders: [folder] })).toEqual([]);
});

test('GPUs of NVIDIA go by name where its runtime is, and as files where the engine knows no names', async () => {
  expect(await boxDevices(room(gpu('GPU-3')), 'nvidia')).toEqual(['nvidia.com/gpu=GPU-3']);
  expect(await boxDevices(room(gpu('GPU-3'), gpu('GPU-1', 'amd')), 'nvidia')).toContain('/dev/null');
  expect(await boxDevices(room(gpu('GPU-1')), 'none')).toContain('/dev/null');
});

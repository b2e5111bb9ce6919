import type { GPUNode, NodeBooking } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { cellsOf, totalsOf } from './cells.ts';
import { continued, linesOf } from './lines.ts';
import { stateOf } from './node-state.ts';
import { readingsIn } from './readings.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: '' };

function node({ spec, status, metadata }: { spec?: object; status?: object; metadata?: object } = {}): GPUNode {
  return {
    apiVersion: 'v1',
    kind: 'GPUNode',
    metadata: { name: 'gpu-1', ...metadata },
    ...(spec && { spec }),
    status: { identity: { generation: 1 }, conditions: [ready], ...status },
  } as unknown as GPUNode;
}

describe('the state of a node', () => {
  const without = (type: string, message: string) => ({ status: { conditions: [ready, { ...ready, type, status: 'False', message }] } });
  test.each([
    ['is heard', {}, 'Ready'],
    ['nobody has joined', { status: { identity: undefined } }, 'Not enrolled'],
    ['is silent', { status: { conditions: [{ ...ready, status: 'Unknown' }] } }, 'Silent'],
    ['is locked', { status: { identity: { locked: { reason: 'two machines' } } } }, 'Locked'],
    ['has a broken GPU', without('GPUsHealthy', 'Xid 79'), 'Degraded'],
    ['is not clean', without('Clean', 'a mount'), 'Not clean'],
    ['is cordoned', { spec: { unschedulable: true } }, 'Cordoned'],
    ['is in maintenance', { spec: { unschedulable: true, maintenance: true } }, 'Maintenance'],
    ['is lost', { spec: { lost: true } }, 'Lost'],
    ['is being removed', { metadata: { deletionTimestamp: 'now' } }, 'Removing'],
  ])('that %s', (_what, patch, word) => expect(stateOf(node(patch)).word).toBe(word));
});

test('reads the metrics of all GPUs', () => {
  const text = [
    '# HELP capstan_gpu_utilization_ratio …',
    'capstan_node_up{node="a"} 1',
    'capstan_gpu_utilization_ratio{node="a",gpu="GPU-1",model="H200"} 0.87',
    'capstan_gpu_temperature_celsius{node="a",gpu="GPU-1",model="H200"} 57',
    'capstan_unit_gpu_utilization_ratio{workspace="w",node="a",gpu="GPU-1"} 0.5',
  ].join('\n');
  expect([...readingsIn(text)]).toEqual([['GPU-1', { utilization: 0.87, temperature: 57 }]]);
});

test('the history of GPUs goes on with what is read later, over the same span', () => {
  const at = (minute: number): string => new Date(minute * 60_000).toISOString();
  const point = (minute: number, mean: number) => ({ at: at(minute), samples: 12, utilizationPercent: { mean, max: mean } });
  const gpu = { model: 'H200', health: 'Healthy' as const };
  const history = {
    node: 'a',
    at: at(10),
    gpus: [
      { uuid: 'GPU-1', ...gpu, points: [point(2, 20), point(8, 80)] },
      { uuid: 'GPU-2', ...gpu },
    ],
  };
  const read = (minute: number, utilization: number) => ({
    at: minute * 60_000,
    readings: new Map([['GPU-1', { utilization, memoryUsed: 7, temperature: 50, power: 300 }]]),
  });
  const [one, other] = continued(history, [read(9, 0.9), read(11, 0.5), read(13, 0.25)], 10 * 60_000);
  const timesAndUse = one!.points!.map(({ at: time, utilizationPercent }) => [time, utilizationPercent!.mean]);
  expect(timesAndUse).toEqual([
    [at(8), 80],
    [at(11), 50],
    [at(13), 25],
  ]);
  const numbers = { memoryUsedBytes: 7, temperatureCelsius: 50, powerWatts: 300 };
  for (const [field, value] of Object.entries(numbers)) expect(one!.points!.at(-1)).toMatchObject({ [field]: { mean: value, max: value } });
  expect(other!.points).toEqual([]);
  expect(continued(history, [], 10 * 60_000)[0]!.points).toHaveLength(2);
});

describe('the map', () => {
  const gpu = (uuid: string, state = 'Healthy', mig?: object) => ({
    uuid,
    model: 'H200',
    health: { state, reason: '', message: 'broken', since: '' },
    ...(mig && { mig }),
  });
  const entry = (state: string, ...devices: string[]) => ({
    state,
    devices,
    allocation: { name: 'train', path: 'root:main', namespace: 'default' },
  });
  const booking = { spec: { entries: [entry('Granted', '1', 'mig-4'), entry('Cleaning', '2')] } } as unknown as NodeBooking;
  const gpus = [
    gpu('0'),
    gpu('1'),
    gpu('2'),
    gpu('3', 'Failed'),
    gpu('4', 'Healthy', { mode: 'enabled', devices: ['mig-3', 'mig-4'].map((uuid) => ({ uuid, profile: '3g.40gb' })) }),
    gpu('5', 'Degraded'),
  ];
  const cells = cellsOf(node({ status: { gpus } }), booking, new Map([['1', { utilization: 0.5, memoryUsed: 2 ** 30 }]]));

  test('shows what each GPU does', () =>
    expect(cells.cells.map(({ state }) => state)).toEqual(['free', 'booked', 'cleaning', 'failed', 'booked', 'degraded']));
  test('says who has it', () => expect(cells.cells[1]?.text).toBe('GPU 1 · H200 · train in root:main · 50% · 1 GiB'));
  test('says who has each instance of a divided one', () =>
    expect(cells.cells[4]?.text).toBe('GPU 4 · H200 · 3g.40gb: free, 3g.40gb: train in root:main'));
  test('says that one that is not healthy has an owner', () => {
    const [cell] = cellsOf(node({ status: { gpus: [gpu('1', 'Failed')] } }), booking, new Map()).cells;
    expect(cell).toMatchObject({ state: 'failed', owner: 'train in root:main' });
  });
  test('adds up', () => expect(totalsOf([cells])).toEqual({ gpus: 6, booked: 2, free: 1, broken: 3, utilization: 0.5 }));
});

test('lines of GPUs share their times', () => {
  const point = (at: string, mean: number) => ({ at, samples: 1, utilizationPercent: { mean, max: mean } });
  const gpus = [
    { uuid: '0', model: 'H200', health: 'Healthy' as const, points: [point('1970-01-01T00:00:10Z', 5), point('1970-01-01T00:00:20Z', 6)] },
    { uuid: '1', model: 'H200', health: 'Healthy' as const, points: [point('1970-01-01T00:00:20Z', 7)] },
  ];
  expect(linesOf(gpus, ({ utilizationPercent }) => utilizationPercent)).toEqual({
    times: [10, 20],
    series: [
      { label: 'GPU 0', values: [5, 6] },
      { label: 'GPU 1', values: [null, 7] },
    ],
  });
  expect(linesOf(gpus, ({ powerWatts }) => powerWatts).times).toEqual([]);
});

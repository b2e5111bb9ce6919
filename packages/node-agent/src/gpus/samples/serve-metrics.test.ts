import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { GpuReading, GpuStatus, NodeMetrics } from '@capstan/api';
import { expect, test } from 'vitest';
import type { RoutedRequest } from '../../requests/router.ts';
import { GpuHistory } from './history.ts';
import { serveNodeMetrics } from './serve-metrics.ts';

const now = Date.parse('2026-01-02T12:00:00Z');
const reading = (uuid: string, utilizationPercent: number): GpuReading => ({
  uuid,
  utilizationPercent,
  memoryUsedBytes: 1024 * 1024,
  throttle: [],
  unreadable: [],
  processes: [],
});
const card = (uuid: string): GpuStatus =>
  ({ uuid, gpu: { uuid, model: 'H100', memoryBytes: 80 * 2 ** 30 }, health: { state: 'Healthy' } }) as unknown as GpuStatus;

const history = new GpuHistory();
history.add(now - 20_000, [reading('GPU-1', 10)]);
history.add(now - 15_000, [reading('GPU-1', 30)]);
history.add(now - 5_000, [reading('GPU-1', 80), reading('GPU-2', 5)]);
const missing = { uuid: 'GPU-3', health: { state: 'Missing' } } as unknown as GpuStatus;
const gpus = {
  readings: () => [reading('GPU-1', 80), reading('GPU-2', 5)],
  status: () => [card('GPU-1'), card('GPU-2'), missing],
  range: history.range.bind(history),
};

async function ask(
  query: string,
  { method = 'GET', path = '/metrics' } = {},
): Promise<{ code: number; body: NodeMetrics & { message?: string } } | false> {
  const stream = new PassThrough();
  let code = 0;
  const request = {
    method,
    route: { kind: 'node', path },
    query: new URLSearchParams(query),
    respond: (status: number) => {
      code = status;
      return stream;
    },
  } as unknown as RoutedRequest<{ kind: 'node'; path: string }>;
  const served = serveNodeMetrics(request, { node: 'a', gpus, now: () => now });
  if (served === false) return false;
  await served;
  return { code, body: JSON.parse(await text(stream)) };
}

test('answers with the latest sample of each GPU, and with its health', async () => {
  expect(await ask('')).toEqual({
    code: 200,
    body: {
      node: 'a',
      at: '2026-01-02T12:00:00.000Z',
      gpus: [
        {
          uuid: 'GPU-1',
          model: 'H100',
          health: 'Healthy',
          memoryBytes: 80 * 2 ** 30,
          latest: { utilizationPercent: 80, memoryUsedBytes: 1 << 20 },
        },
        {
          uuid: 'GPU-2',
          model: 'H100',
          health: 'Healthy',
          memoryBytes: 80 * 2 ** 30,
          latest: { utilizationPercent: 5, memoryUsedBytes: 1 << 20 },
        },
        { uuid: 'GPU-3', model: '', health: 'Missing' },
      ],
    },
  });
});

test('answers with mean and maximum of each step of a range', async () => {
  const answer = await ask('from=2026-01-02T11:59:40Z&step=10s&gpu=GPU-1');
  if (answer === false) throw new Error('not served');
  expect(answer.body.gpus.map(({ uuid, points }) => [uuid, points])).toEqual([
    [
      'GPU-1',
      [
        {
          at: '2026-01-02T11:59:40.000Z',
          samples: 2,
          utilizationPercent: { mean: 20, max: 30 },
          memoryUsedBytes: { mean: 1 << 20, max: 1 << 20 },
        },
        {
          at: '2026-01-02T11:59:50.000Z',
          samples: 1,
          utilizationPercent: { mean: 80, max: 80 },
          memoryUsedBytes: { mean: 1 << 20, max: 1 << 20 },
        },
      ],
    ],
  ]);
});

test('refuses ranges that it cannot serve, and leaves other paths to others', async () => {
  expect(await ask('step=x')).toMatchObject({ code: 400, body: { message: expect.stringContaining('step: expected a duration') } });
  const many = { ...gpus, status: () => Array.from({ length: 64 }, (_, index) => card(`GPU-${index}`)) };
  Object.assign(gpus, many);
  expect(await ask('from=2026-01-01T12:00:00Z&step=10s')).toMatchObject({
    code: 400,
    body: { message: expect.stringContaining('at most 50000 points') },
  });
  expect(await ask('', { method: 'POST' })).toMatchObject({ code: 405 });
  expect(await ask('', { path: '/metrics/more' })).toBe(false);
});

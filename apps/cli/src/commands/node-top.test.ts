import { expect, test } from 'vitest';
import { gpuLines } from './node-top.ts';

test('has a line for each GPU, and one for each node without numbers', () => {
  const lines = gpuLines([
    {
      node: 'a',
      at: '2026-01-01T00:00:00Z',
      gpus: [
        {
          uuid: 'GPU-1',
          model: 'H100',
          health: 'Healthy',
          memoryBytes: 80 * 2 ** 30,
          latest: { utilizationPercent: 87.4, memoryUsedBytes: 61.25 * 2 ** 30, temperatureCelsius: 63, powerWatts: 512.7 },
        },
        { uuid: 'GPU-2', model: '', health: 'Missing' },
      ],
    },
    { node: 'b', problem: 'gpunodes/metrics needs the node of b, which is not connected' },
    { node: 'c', at: '2026-01-01T00:00:00Z', gpus: [] },
  ]);
  expect(lines).toEqual([
    'NODE   GPU     MODEL   UTILIZATION   MEMORY          TEMPERATURE   POWER   HEALTH',
    'a      GPU-1   H100    87%           61.3/80.0 GiB   63 °C         513 W   Healthy',
    'a      GPU-2   -       -             -               -             -       Missing',
    'b      -       -       -             -               -             -       NotConnected',
    'c      -       -       -             -               -             -       -',
  ]);
});

test('says that there are no nodes', () => {
  expect(gpuLines([])).toEqual(['No nodes. Enrol a machine with "capstan node enroll <name>".']);
});

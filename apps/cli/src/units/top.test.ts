import { expect, test } from 'vitest';
import { type UnitMetrics, unitLines } from './top.ts';

const metrics = (name: string, change: object): UnitMetrics => ({
  apiVersion: 'metrics.k8s.io/v1beta1',
  kind: 'PodMetrics',
  metadata: { name },
  ...change,
});

test('has a line for each unit, with the average use of its GPUs', () => {
  expect(
    unitLines([
      metrics('train', {
        containers: [{ usage: { cpu: '1250m', memory: '65536Ki' } }],
        gpus: [
          { uuid: 'a', utilizationPercent: 90, memoryUsedBytes: 2 ** 30 },
          { uuid: 'b', utilizationPercent: 41, memoryUsedBytes: 2 ** 30 },
        ],
      }),
      metrics('plain', { containers: [{ usage: { cpu: '3', memory: '1Gi' } }] }),
      metrics('declared', { containers: [{ usage: { cpu: '0m', memory: '0Ki' } }], gpus: [{ uuid: 'c' }] }),
    ]),
  ).toEqual([
    'NAME       CPU     MEMORY   GPUS   GPU UTILIZATION   GPU MEMORY',
    'train      1250m   64Mi     2      66%               2048Mi',
    'plain      3000m   1024Mi   0      -                 -',
    'declared   0m      0Mi      1      -                 -',
  ]);
  expect(unitLines([])[0]).toContain('No unit has numbers');
});

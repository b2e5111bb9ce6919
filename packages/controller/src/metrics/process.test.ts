import { Metrics } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { addProcessMetrics } from './process.ts';

test('reports the memory and the processor time of the process', () => {
  const metrics = new Metrics();
  addProcessMetrics(metrics);
  const text = metrics.text();
  expect(text).toMatch(/# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total [\d.]+\n/);
  expect(text).toMatch(/process_resident_memory_bytes [1-9]\d+\n/);
});

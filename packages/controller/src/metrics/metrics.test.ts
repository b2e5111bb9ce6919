import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { addProcessMetrics } from './process.ts';

test('numbers are written in the form that Prometheus reads', () => {
  const metrics = new Metrics();
  metrics.counter('things_total', 'Things.', { name: 'a "b"\n' }).increment(2);
  metrics.counter('things_total', 'Things.', { name: 'a "b"\n' }).increment();
  metrics.gauge('depth', 'Depth.', { read: () => 7 });
  const time = metrics.histogram('seconds', 'Time.', { name: 'x' });
  time.observe(0.003);
  time.observe(1000);
  const lines = metrics.text().split('\n');
  expect(lines.slice(0, 6)).toEqual([
    '# HELP things_total Things.',
    '# TYPE things_total counter',
    'things_total{name="a \\"b\\"\\n"} 3',
    '# HELP depth Depth.',
    '# TYPE depth gauge',
    'depth 7',
  ]);
  expect(lines).toContain('seconds_bucket{name="x",le="0.001"} 0');
  expect(lines).toContain('seconds_bucket{name="x",le="0.005"} 1');
  expect(lines).toContain('seconds_bucket{name="x",le="60"} 1');
  expect(lines).toContain('seconds_bucket{name="x",le="+Inf"} 2');
  expect(lines).toContain('seconds_count{name="x"} 2');
});

test('a gauge that is given again reads what is there now', () => {
  const metrics = new Metrics();
  const labels = { name: 'queue' };
  metrics.gauge('depth', 'Waiting.', { labels, read: () => 1 });
  metrics.gauge('depth', 'Waiting.', { labels, read: () => 2 });
  expect(metrics.text()).toBe('# HELP depth Waiting.\n# TYPE depth gauge\ndepth{name="queue"} 2\n');
});

test('a process tells what it costs', () => {
  const metrics = new Metrics();
  addProcessMetrics(metrics);
  const text = metrics.text();
  expect(text).toMatch(/# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total [\d.]+\n/);
  expect(text).toMatch(/process_resident_memory_bytes [1-9]\d+\n/);
});

import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

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

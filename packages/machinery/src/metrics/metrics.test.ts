import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

test('prints the text format of Prometheus, with escaped labels', () => {
  const metrics = new Metrics();
  metrics.counter('things_total', 'Things.', { name: 'a "b"\n\\' }).increment(2);
  metrics.counter('things_total', 'Things.', { name: 'a "b"\n\\' }).increment();
  metrics.gauge('depth', 'Depth.', { read: () => 7 });
  const time = metrics.histogram('seconds', 'Time.', { labels: { name: 'x' } });
  time.observe(0.003);
  time.observe(1000);
  const lines = metrics.text().split('\n');
  expect(lines.slice(0, 6)).toEqual([
    '# HELP things_total Things.',
    '# TYPE things_total counter',
    'things_total{name="a \\"b\\"\\n\\\\"} 3',
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

test('uses the buckets that a histogram asks for', () => {
  const metrics = new Metrics();
  metrics.histogram('size', 'Size.', { buckets: [1, 10] }).observe(5);
  expect(metrics.text()).toBe(
    '# HELP size Size.\n# TYPE size histogram\nsize_bucket{le="1"} 0\nsize_bucket{le="10"} 1\nsize_bucket{le="+Inf"} 1\nsize_sum 5\nsize_count 1\n',
  );
});

test('reads a gauge when it is printed, and the latest registration wins', () => {
  const metrics = new Metrics();
  const labels = { name: 'queue' };
  let depth = 1;
  metrics.gauge('depth', 'Waiting.', { labels, read: () => 0 });
  metrics.gauge('depth', 'Waiting.', { labels, read: () => depth });
  depth = 2;
  expect(metrics.text()).toBe('# HELP depth Waiting.\n# TYPE depth gauge\ndepth{name="queue"} 2\n');
});

test('prints one line for each value of the label of a gauge, escaped', () => {
  const metrics = new Metrics();
  metrics.gauge('objects', 'Stored objects.', {
    read: () => ({
      label: 'resource',
      numbers: new Map([
        ['a"b', 1],
        ['c', 2],
      ]),
    }),
  });
  expect(metrics.text().split('\n').slice(2, 4)).toEqual(['objects{resource="a\\"b"} 1', 'objects{resource="c"} 2']);
});

test('rejects one name for two types of metrics', () => {
  const metrics = new Metrics();
  metrics.counter('things', 'Things.');
  expect(() => metrics.histogram('things', 'Things.')).toThrow('the metric things is a counter, so it cannot be a histogram');
});

test('prints NaN for a gauge that cannot be read, and the others as usual', () => {
  const metrics = new Metrics();
  metrics.gauge('broken', 'Broken.', {
    read: () => {
      throw new Error('EMFILE');
    },
  });
  metrics.gauge('fine', 'Fine.', { read: () => 1 });
  expect(metrics.text()).toContain('broken NaN\n');
  expect(metrics.text()).toContain('fine 1\n');
});

import { expect, test } from 'vitest';
import { createWorkspace, startTestServer } from '../testing/harness.ts';
import { ServerMetrics } from './metrics.ts';

const ask = (group: string, resource: string, subresource = '') => ({ verb: 'get', group, resource, subresource });
const fresh = (): ServerMetrics => new ServerMetrics((group, resource) => group === '' && resource === 'pods');

const seriesIn = (metrics: ServerMetrics): string[] =>
  metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'));

test('counts requests by verb, resource and code', () => {
  const metrics = fresh();
  metrics.observe(ask('', 'pods'), 200, 0.002);
  metrics.observe(ask('', 'pods'), 200, 0.3);
  metrics.observe(ask('', 'pods'), 404, 0.002);
  expect(seriesIn(metrics)).toEqual([
    'apiserver_request_total{verb="GET",group="",resource="pods",subresource="",code="200"} 2',
    'apiserver_request_total{verb="GET",group="",resource="pods",subresource="",code="404"} 1',
  ]);
  expect(metrics.text()).toContain('resource="pods",subresource="",code="200",le="0.005"} 1\n');
});

test('counts every request, with a bounded number of series for kinds defined by tenants', () => {
  const metrics = fresh();
  for (let at = 0; at < 1_000; at++) metrics.observe(ask(`g${at}.example`, 'things'), 200, 0.001);
  const size = metrics.text().length;
  for (let at = 1_000; at < 5_000; at++) metrics.observe(ask(`g${at}.example`, 'things'), 200, 0.001);
  expect(metrics.text().length).toBeLessThan(size + 200);
  const counts = seriesIn(metrics).map((line) => Number(line.split(' ').at(-1)));
  expect(counts.reduce((sum, count) => sum + count)).toBe(5_000);
});

test('does not use a method invented by a client as a label', () => {
  const metrics = fresh();
  for (let at = 0; at < 1_000; at++) metrics.observe({ ...ask('', ''), verb: `x"${at}` }, 403, 0.001);
  expect(seriesIn(metrics)).toEqual(['apiserver_request_total{verb="OTHER",group="",resource="",subresource="",code="403"} 1000']);
});

test('does not use a name invented by a client as a label', () => {
  const metrics = fresh();
  metrics.observe(ask('', '"} 1\nforged{a="'), 404, 0.001);
  metrics.observe(ask('', 'pods', 'nonsense'), 404, 0.001);
  expect(seriesIn(metrics)).toEqual(['apiserver_request_total{verb="GET",group="other",resource="other",subresource="",code="404"} 2']);
});

test('keeps the series of a custom kind when its requests fail later', () => {
  const metrics = fresh();
  metrics.observe(ask('things.example', 'widgets'), 200, 0.001);
  metrics.observe(ask('things.example', 'widgets'), 403, 0.001);
  expect(seriesIn(metrics)[1]).toContain('group="things.example",resource="widgets",subresource="",code="403"');
});

test('a gauge has one value, or one per value of its label', () => {
  const metrics = fresh();
  metrics.gauge({ name: 'one', help: 'One.', value: () => 7 });
  const numbers = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  metrics.gauge({ name: 'many', help: 'Many.', type: 'counter', value: () => ({ label: 'of', numbers }) });
  expect(metrics.text()).toContain(
    '# HELP one One.\n# TYPE one gauge\none 7\n# HELP many Many.\n# TYPE many counter\nmany{of="a"} 1\nmany{of="b"} 2\n',
  );
});

test('has no series per workspace', async () => {
  await using server = await startTestServer();
  const seriesOf = async (): Promise<string[]> => {
    const lines = (await server.call('/metrics')).text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).sort();
  };
  const use = async (id: string): Promise<void> => {
    await createWorkspace(server, id);
    await server.call(`/clusters/${id}/api/v1/namespaces`, { method: 'POST', body: { metadata: { name: 'default' } } });
    await server.call(`/clusters/${id}/api/v1/namespaces/default/configmaps`);
    await server.call(`/clusters/${id}/api/v1/namespaces/default/configmaps/missing`);
  };
  await use('first');
  await seriesOf();
  const before = await seriesOf();
  for (let at = 0; at < 5; at++) await use(`another-${at}`);
  expect(await seriesOf()).toEqual(before);
});

import { expect, test } from 'vitest';
import { startTestServer } from '../testing/harness.ts';
import { Health } from './health.ts';

test('reports the results of checks as metrics', async () => {
  await using server = await startTestServer();
  const before = (await server.call('/metrics/slis')).text;
  expect(before).toContain('kubernetes_healthcheck{name="ping",type="livez"} 1\n');
  expect(before).not.toContain('kubernetes_healthcheck{name="store",type="livez"}');
  await server.call('/healthz');
  await server.call('/healthz/ping');
  expect((await server.call('/metrics/slis')).text).toContain(
    'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2\n',
  );
});

test('reports a failing check immediately, even if it was never requested', () => {
  const health = new Health();
  health.add({ name: 'store', problem: () => 'gone', readyOnly: true });
  const text = health.indicators();
  expect(text).toContain('kubernetes_healthcheck{name="store",type="readyz"} 0\n');
  expect(text).not.toMatch(/^kubernetes_healthchecks_total\{/m);
});

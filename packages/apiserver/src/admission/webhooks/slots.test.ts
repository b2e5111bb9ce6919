import { asClusterId } from '@capstan/api';
import { expect, it, vi } from 'vitest';
import { MemoryObjects } from '../../authz/testing.ts';
import { WebhookClient } from './client.ts';
import { TestWebhook } from './testing.ts';

it('calls of an organization wait for each other, without their bodies, and not for those of others', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  await using hook = await TestWebhook.start(() => ({ response: {}, after: gate }));
  const organizationOf = (cluster: string): string => cluster.slice(0, 1);
  using client = new WebhookClient(new MemoryObjects(), { slots: { perTenant: 3 }, organizationOf });
  const endpoint = { by: 'url', url: `https://127.0.0.1:${hook.port}/`, authorities: hook.authority } as const;
  let bodies = 0;
  const call = (cluster: string) =>
    client.post({
      cluster: asClusterId(cluster),
      endpoint,
      body: () => JSON.stringify({ request: { uid: String(++bodies) } }),
      timeoutSeconds: 30,
    });
  const calls = ['a1', 'a2', 'a3', 'a1', 'a2', 'a3', 'a1', 'b1'].map(call);
  await vi.waitFor(() => expect(hook.questions).toHaveLength(4), { timeout: 20_000 });
  expect(bodies).toBe(4);
  open();
  expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(calls.map(() => 200));
});

it('a call that finds no slot in its time says why', async () => {
  await using hook = await TestWebhook.start(() => ({ wait: new Promise(() => {}) }));
  using client = new WebhookClient(new MemoryObjects(), { slots: { perTenant: 1 } });
  const endpoint = { by: 'url', url: `https://127.0.0.1:${hook.port}/`, authorities: hook.authority } as const;
  const call = (timeoutSeconds: number) =>
    client
      .post({ cluster: asClusterId('a'), endpoint, body: () => '{"request":{}}', timeoutSeconds })
      .catch((error: Error) => error.message);
  const first = call(5);
  expect(await call(1)).toMatch(/waited too long for other calls of webhooks of this organization$/);
  expect(await first).toMatch('context deadline exceeded');
});

import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ limits: { webhooks: { perWorkspace: 5 } } });
});
afterAll(() => server[Symbol.asyncDispose]());

const registration = '/apis/admissionregistration.k8s.io/v1';

function configuration(name: string, count: number, more: JsonObject = {}): JsonObject {
  const webhooks = Array.from({ length: count }, (_, index) => ({
    name: `w${index}.example.com`,
    clientConfig: { url: 'https://hook.example.com' },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [],
  }));
  return { metadata: { name, ...more }, webhooks };
}

const create = (kind: 'mutating' | 'validating', body: JsonObject): Promise<Reply> =>
  server.call(`${registration}/${kind}webhookconfigurations`, { method: 'POST', body });

it('the webhooks of a workspace are limited, over all configurations', async () => {
  expect((await create('mutating', configuration('a', 3))).code).toBe(201);
  const refused = await create('validating', configuration('b', 3));
  expect(refused.code).toBe(422);
  expect(refused.json().message).toMatch('the workspace would have 6 webhooks in all configurations, the limit is 5');
  expect((await create('validating', configuration('b', 1))).code).toBe(201);
  expect((await create('validating', configuration('empty', 0))).code).toBe(201);
  expect((await create('validating', configuration('one-more', 0))).code).toBe(422);

  const path = `${registration}/mutatingwebhookconfigurations/a`;
  const stored = (await server.call(path)).json();
  const update = (body: JsonObject): Promise<Reply> => server.call(path, { method: 'PUT', body: { ...stored, ...body } });
  expect((await update({ webhooks: configuration('a', 4)['webhooks']! })).code).toBe(422);
  expect((await update({ webhooks: configuration('a', 2)['webhooks']! })).code).toBe(200);
  expect((await create('validating', configuration('one-more', 0))).code).toBe(201);
});

it('a long configuration counts as several webhooks', async () => {
  const refused = await create('validating', configuration('long', 1, { annotations: { note: 'x'.repeat(60_000) } }));
  expect(refused.code).toBe(422);
  expect(refused.json().message).toMatch('each counts once for each 8 KiB');
});

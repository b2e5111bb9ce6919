import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@capstan/machinery';
import { expect, it, vi } from 'vitest';
import { markerFile } from '../../registry/quarantine.ts';
import { type Reply, startTestServer } from '../../testing/harness.ts';
import { register, TestWebhook } from './testing.ts';

const registration = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const patience = { timeout: 10_000 };

it.each([
  ['Fail', 403],
  ['Ignore', 201],
])('conditions that the server was evaluating when it stopped are not evaluated again: %s', async (failurePolicy, code) => {
  await using server = await startTestServer();
  await using hook = await TestWebhook.start(() => ({ response: { allowed: false } }));
  await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'test' } } });
  const matchConditions = [{ name: 'bad', expression: "object.metadata.name == 'bad'" }];
  await register(server, 'validating', 'slow', [{ name: 'v.test.io', clientConfig: hook.at(), failurePolicy, matchConditions }]);
  const make = (name: string): Promise<Reply> =>
    server.call('/api/v1/namespaces/test/configmaps', { method: 'POST', body: { metadata: { name } } });
  await vi.waitFor(async () => expect((await make('bad')).code).toBe(400), patience);

  const { metadata } = (await server.call(`${registration}/slow`)).json();
  const name = 'ValidatingWebhookConfiguration "slow"';
  const evaluated = { identity: `webhooks ${metadata.uid} ${metadata.generation}`, name };
  for (let stop = 0; stop < 2; stop++)
    await server.restart(() => writeFileSync(join(server.directory, markerFile), `${JSON.stringify(evaluated)}\n`));
  const asked = hook.questions.length;
  const reply = await make('bad');
  expect(reply.code).toBe(code);
  if (code === 403) expect(reply.json().message).toContain(`${name} is quarantined since`);
  expect(hook.questions.length).toBe(asked);
  const annotations = async (): Promise<object> => (await server.call(`${registration}/slow`)).json().metadata.annotations ?? {};
  const mark = expect.stringContaining(`${name} is quarantined since`) as string;
  await vi.waitFor(async () => expect(await annotations()).toEqual({ 'capstan.dev/quarantined': mark }), patience);
  if (code === 403) expect((await make('bad')).code).toBe(code);

  const changed = (await server.call(`${registration}/slow`)).json() as unknown as { webhooks: JsonObject[] };
  const webhooks = changed.webhooks.map((one) => ({
    ...one,
    matchConditions: [{ name: 'worse', expression: "object.metadata.name == 'worse'" }],
  }));
  expect((await server.call(`${registration}/slow`, { method: 'PUT', body: { ...changed, webhooks } })).code).toBe(200);
  await vi.waitFor(async () => expect((await make('worse')).code).toBe(400), patience);
  expect((await make('good')).code).toBe(201);
  await vi.waitFor(async () => expect(await annotations()).toEqual({}), patience);
});

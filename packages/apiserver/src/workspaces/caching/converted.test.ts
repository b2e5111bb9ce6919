import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { TestWebhook } from '../../admission/webhooks/testing.ts';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { flavor, flavors, Publishing } from './testing.ts';

let server: TestServer;
let webhook: TestWebhook;
let publishing: Publishing;

/** Doubles the value in the second version, to tell the versions apart. */
const doubled = (object: KubeObject, apiVersion: string): KubeObject => {
  const { gpus } = object['spec'] as { gpus: number };
  return { ...object, apiVersion, spec: { gpus: apiVersion.endsWith('/v2') ? gpus * 2 : gpus / 2 } };
};

beforeAll(async () => {
  server = await startTestServer();
  webhook = await TestWebhook.start(({ apiVersion, request }) => {
    const { uid, objects, desiredAPIVersion } = request as unknown as { uid: string; objects: KubeObject[]; desiredAPIVersion: string };
    const convertedObjects = objects.map((object) => doubled(object, desiredAPIVersion));
    const response = { uid, result: { status: 'Success' }, convertedObjects };
    return { body: JSON.stringify({ kind: 'ConversionReview', apiVersion, response }) };
  });
  publishing = new Publishing(server);
  for (const id of ['provider', 'one', 'two']) await createWorkspace(server, id);
  const clientConfig = { url: `https://127.0.0.1:${webhook.port}/convert`, caBundle: Buffer.from(webhook.authority).toString('base64') };
  const conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
  await publishing.publish('provider', { offered: 'v2', conversion });
  await vi.waitFor(async () => expect((await server.call(`/clusters/provider${flavors}`)).code).toBe(200));
  await publishing.put(`/clusters/provider${flavors}`, flavor('large'));
  for (const id of ['one', 'two']) await publishing.bind(id, 'provider');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await webhook[Symbol.asyncDispose]();
});

const second = '/apis/cloud.example.com/v2/flavors';
const seen = ({ metadata, spec, apiVersion }: KubeObject): unknown[] => [metadata.annotations, spec, apiVersion];
const itemsOf = (reply: Reply): unknown[] => reply.json().items!.map(seen);

test('a published object that its provider converts by a webhook is served to consumers in the offered version', async () => {
  const inOne = [{ 'kcp.io/cluster': 'one' }, { gpus: 16 }, 'cloud.example.com/v2'];
  const inTwo = [{ 'kcp.io/cluster': 'two' }, { gpus: 16 }, 'cloud.example.com/v2'];
  expect(seen((await server.call(`/clusters/one${second}/large`)).json())).toEqual(inOne);
  expect(itemsOf(await server.call(`/clusters/one${second}`))).toEqual([inOne]);
  const everywhere = `/services/apiexport/provider/catalog/clusters/*${second}`;
  expect(itemsOf(await server.call(everywhere))).toEqual([inOne, inTwo]);
  expect((await server.watch(`${everywhere}?watch=1`, 2)).map(({ object }) => seen(object))).toEqual([inOne, inTwo]);
  expect((await server.call(`/clusters/one${flavors}`)).code).toBe(404);
});

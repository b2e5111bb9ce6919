import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, type Question, TestWebhook } from '../admission/webhooks/testing.ts';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';
import { definition, definitionsPath, hasCondition, merge, Things, thing, version } from './testing/definitions.ts';

let server: TestServer;
let webhook: TestWebhook;
let answer: (objects: KubeObject[], wanted: string) => JsonObject;
let count = 0;

/** Version 1 has a host and a port; version 2 combines them in one string. */
function convert(object: KubeObject, apiVersion: string): KubeObject {
  const spec = object['spec'] as { host?: string; port?: string; address?: string };
  const [host = '', port = ''] = (spec.address ?? '').split(':');
  const converted = apiVersion.endsWith('/v2') ? { address: `${spec.host}:${spec.port}` } : { host, port };
  return { ...object, apiVersion, spec: converted };
}

const success = (objects: KubeObject[], wanted: string): JsonObject => ({
  result: { status: 'Success' },
  convertedObjects: objects.map((object) => convert(object, wanted)) as unknown as JsonObject[],
});

beforeAll(async () => {
  server = await startTestServer();
  webhook = await TestWebhook.start((question: Question): Answer => {
    const { uid, objects, desiredAPIVersion } = question.request as unknown as {
      uid: string;
      objects: KubeObject[];
      desiredAPIVersion: string;
    };
    const response: JsonObject = { uid, ...answer(objects, desiredAPIVersion) };
    if (response['code'] !== undefined) return { body: '', code: response['code'] as number };
    return { body: JSON.stringify({ kind: 'ConversionReview', apiVersion: question.apiVersion, response }) };
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await webhook[Symbol.asyncDispose]();
});

async function defined(second: JsonObject = {}): Promise<Things> {
  answer = success;
  const things = new Things(server, `hook${++count}.example.com`);
  const text = { type: 'string' };
  const clientConfig = { url: `https://127.0.0.1:${webhook.port}/convert`, caBundle: Buffer.from(webhook.authority).toString('base64') };
  await things.define({
    versions: [version('v1', { host: text, port: text }), version('v2', { address: text }, second)],
    spec: { conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } } },
  });
  return things;
}

describe('conversion by a webhook', () => {
  test('serves stored objects in every version', async () => {
    const things = await defined();
    expect((await things.create('a', { host: 'h', port: '1' })).json()['spec']).toEqual({ host: 'h', port: '1' });
    expect((await things.get('a', 'v2')).json()).toMatchObject({ apiVersion: `${things.group}/v2`, spec: { address: 'h:1' } });
    expect((await server.call(things.path('v2'))).json().items?.[0]?.['spec']).toEqual({ address: 'h:1' });
  });

  test('stores objects written in another version, and converts each stored object only once', async () => {
    const things = await defined();
    await things.create('a', { address: 'h:2' }, 'v2');
    expect((await things.get('a')).json()['spec']).toEqual({ host: 'h', port: '2' });
    expect((await things.patch('a', { spec: { address: 'h:3' } }, 'v2')).json()['spec']).toEqual({ address: 'h:3' });
    await things.get('a', 'v2');
    const asked = webhook.questions.length;
    await things.get('a', 'v2');
    await things.get('a');
    expect(webhook.questions.length).toBe(asked);
  });

  test('selects by fields of the requested version', async () => {
    const things = await defined({ selectableFields: [{ jsonPath: '.spec.address' }] });
    await things.create('a', { host: 'h', port: '1' });
    await things.create('b', { host: 'h', port: '2' });
    const found = await server.call(`${things.path('v2')}?fieldSelector=${encodeURIComponent('spec.address=h:2')}`);
    expect(found.json().items?.map(({ metadata }) => metadata.name)).toEqual(['b']);
  });

  test('sends watchers their version, in order', async () => {
    const things = await defined();
    await things.create('a', { host: 'h', port: '0' });
    const watched = server.watchUntil(`${things.path('v2')}?watch=true&timeoutSeconds=20`, ({ type }) => type === 'DELETED');
    for (const port of ['1', '2', '3']) await things.patch('a', { spec: { port } });
    await server.call(`${things.path()}/a`, { method: 'DELETE' });
    const events = await watched;
    expect(events.map(({ object }) => object.apiVersion)).toEqual(events.map(() => `${things.group}/v2`));
    expect(events.at(-1)).toMatchObject({ type: 'DELETED', object: { spec: { address: 'h:3' } } });
    const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  });

  test('never sends objects of other workspaces with the same kind', async () => {
    const things = await defined();
    await createWorkspace(server, 'stranger');
    const there = (path: string): string => `/clusters/stranger${path}`;
    const namesake = definition(things.group, { versions: [version('v0', { secret: { type: 'string' } })] });
    await server.call(there('/api/v1/namespaces'), { method: 'POST', body: { metadata: { name: 'default' } } });
    await server.call(there(definitionsPath), { method: 'POST', body: namesake });
    const own = thing(things.group, 'theirs', { secret: 'x' }, 'v0');
    await vi.waitFor(async () => expect((await server.call(there(things.path('v0')), { method: 'POST', body: own })).code).toBe(201));
    await things.create('a', { host: 'h', port: '0' });
    const { resourceVersion } = (await server.call(things.path('v2'))).json().metadata;
    await server.call(`${there(things.path('v0'))}/theirs`, { method: 'PATCH', headers: merge, body: { spec: { secret: 'y' } } });
    await server.call(`${things.path()}/a`, { method: 'DELETE' });
    const since = `watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=20`;
    const events = await server.watchUntil(`${things.path('v2')}?${since}`, ({ type }) => type === 'DELETED');
    expect(events.map(({ type }) => type)).toEqual(['DELETED']);
    expect(JSON.stringify(webhook.questions).includes('theirs')).toBe(false);
  });

  test.each<[string, (objects: KubeObject[], wanted: string) => JsonObject, string]>([
    ['that reports a failure', () => ({ result: { status: 'Failure', message: 'not today' } }), 'failed: not today'],
    ['that rejects the request', () => ({ code: 422 }), 'failed: the server rejected our request due to an error in our request'],
    ['that returns an empty response', () => ({}), "failed: response.result.status was '', not 'Success'"],
    ['that loses an object', () => ({ result: { status: 'Success' }, convertedObjects: [] }), 'returned 0 objects, expected 1'],
    [
      'that does not convert',
      (objects) => ({ result: { status: 'Success' }, convertedObjects: objects as unknown as JsonObject[] }),
      'returned invalid converted object at index 0: invalid groupVersion',
    ],
    [
      'that renames an object',
      (objects, wanted) => ({
        result: { status: 'Success' },
        convertedObjects: objects.map((object) => ({
          ...convert(object, wanted),
          metadata: { ...object.metadata, name: 'b' },
        })) as unknown as JsonObject[],
      }),
      'must have the same name: a != b',
    ],
    ['that returns another uid', () => ({ uid: 'x', result: { status: 'Success' } }), 'failed: expected response.uid='],
  ])('reports a webhook %s as a server error', async (_, wrong, message) => {
    const things = await defined();
    await things.create('a', { host: 'h', port: '1' });
    answer = wrong;
    const reply = await things.get('a', 'v2');
    expect(reply.code).toBe(500);
    expect(reply.json().message).toContain(`conversion webhook for ${things.group}/v1, Kind=Thing`);
    expect(reply.json().message).toContain(message);
    expect((await things.get('a')).code).toBe(200);
  });
});

describe('a conversion webhook with an invalid CA bundle', () => {
  const bundle = (text: string): JsonObject => ({
    spec: { conversion: { webhook: { clientConfig: { caBundle: Buffer.from(text).toString('base64') } } } },
  });

  test('keeps its definition from being established until the bundle is corrected', async () => {
    const things = new Things(server, `hook${++count}.example.com`);
    const clientConfig = { url: 'https://127.0.0.1:1/convert', caBundle: Buffer.from('nonsense').toString('base64') };
    const conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
    const body = definition(things.group, { versions: [version('v1', {}), version('v2', {})], spec: { conversion } });
    expect((await server.call(definitionsPath, { method: 'POST', body })).code).toBe(201);
    const waiting = await things.until((object) => hasCondition(object, 'Established', 'False'));
    const conditions = (waiting['status'] as { conditions: JsonObject[] }).conditions;
    expect(conditions.find(({ type }) => type === 'Established')).toMatchObject({
      reason: 'InvalidCABundle',
      message: 'The conversion webhook CABundle is invalid',
    });
    await server.call(things.definitionPath, { method: 'PATCH', headers: merge, body: bundle(webhook.authority) });
    await things.until((object) => hasCondition(object, 'Established', 'True'));
  });

  test('is rejected for an established definition', async () => {
    const things = await defined();
    const reply = await server.call(things.definitionPath, { method: 'PATCH', headers: merge, body: bundle('nonsense') });
    expect(reply.json().message).toContain(
      'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm9uc2Vuc2U=": unable to load root certificates: unable to parse bytes as PEM block',
    );
  });
});

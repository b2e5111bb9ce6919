import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const schema = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string', default: 'x'.repeat(1000) } } } } },
  };
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body });
  await vi.waitUntil(async () => (await server.call(things)).code === 200, { timeout: 5000 });
});
afterAll(() => server[Symbol.asyncDispose]());

const things = '/apis/example.com/v1/things';
const thing = (name: string, fields: object) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, ...fields });
const merge = (name: string, body: object) =>
  server.call(`${things}/${name}`, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } });

it('limits the size of an object that grows through patches, but allows making it smaller', async () => {
  const part = 'x'.repeat(1_400_000);
  await server.call(things, { method: 'POST', body: thing('a', { one: part }) });
  expect((await merge('a', { two: part })).code).toBe(200);
  const refused = await merge('a', { three: part });
  expect(refused.code).toBe(413);
  expect(refused.json().message).toMatch(/^Request entity too large: the object would have 42\d{5} characters .* limit is 3145728$/);
  expect((await merge('a', { two: null, four: part })).code).toBe(200);
});

it('limits the size of an object with its defaults', async () => {
  const list = Array.from({ length: 40_000 }, () => ({}));
  const { code, text } = await server.call(things, { method: 'POST', body: thing('b', { list }) });
  expect({ code, text }).toMatchObject({ code: 413, text: expect.stringContaining('too large with its defaults') as string });
});

it('limits the fields and items of a body, and of an object that grows', async () => {
  const items = (length: number): number[] => Array.from({ length }, () => 1);
  const { code, text } = await server.call(things, { method: 'POST', body: thing('c', { one: items(100_000) }) });
  expect({ code, text }).toMatchObject({ code: 413, text: expect.stringContaining('more than 100000 fields and items') as string });
  expect((await server.call(things, { method: 'POST', body: thing('c', { one: items(99_000) }) })).code).toBe(201);
  expect((await merge('c', { two: items(99_000) })).code).toBe(200);
  const refused = await merge('c', { three: items(99_000) });
  expect([refused.code, refused.json().message]).toEqual([413, expect.stringContaining('more than 250000 fields and items')]);
});

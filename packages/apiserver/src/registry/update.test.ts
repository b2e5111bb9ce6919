import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const configMaps = '/api/v1/namespaces/default/configmaps';

it('repeats updates without a revision that conflict, each with the object as it was sent', async () => {
  await server.call(configMaps, { method: 'POST', body: { metadata: { name: 'a' } } });
  const body = (index: number) => ({ metadata: { name: 'a', labels: { [`l${index}`]: 'x' } }, data: { index: String(index) } });
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, index) => server.call(`${configMaps}/a`, { method: 'PUT', body: body(index) })),
  );
  expect(replies.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => 200));
  for (const [index, reply] of replies.entries()) {
    const { metadata, data } = reply.json() as unknown as { metadata: { labels: object; name: string }; data: object };
    expect([metadata.name, metadata.labels, data]).toEqual(['a', { [`l${index}`]: 'x' }, { index: String(index) }]);
  }
  const versions = new Set(replies.map((reply) => reply.json().metadata.resourceVersion));
  expect(versions.size).toBe(6);
});

it('updates a large object in parts, with the same result as in one', async () => {
  const data = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`key-${index}`, `value ${index}`]));
  const made = await server.call(configMaps, { method: 'POST', body: { metadata: { name: 'large' }, data } });
  expect(made.code).toBe(201);
  const changed = { ...data, 'key-7': 'changed', more: 'x' };
  const reply = await server.call(`${configMaps}/large?fieldManager=other`, {
    method: 'PUT',
    body: { metadata: { name: 'large' }, data: changed },
  });
  expect(reply.code).toBe(200);
  const stored = (await server.call(`${configMaps}/large`)).json() as unknown as {
    data: object;
    metadata: { managedFields: { manager: string; fieldsV1: { 'f:data': object } }[] };
  };
  expect(stored.data).toEqual(changed);
  const { managedFields } = stored.metadata;
  expect(managedFields.find(({ manager }) => manager === 'other')!.fieldsV1['f:data']).toEqual({ 'f:key-7': {}, 'f:more': {} });
  const again = await server.call(`${configMaps}/large?fieldManager=other`, {
    method: 'PUT',
    body: { metadata: { name: 'large' }, data: changed },
  });
  expect(again.json().metadata.resourceVersion).toBe(reply.json().metadata.resourceVersion);
});

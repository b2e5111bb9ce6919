import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const create = (resourceVersion: string) =>
  server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { generateName: 'a', resourceVersion } } });

it.each(['', '0', '00', '-1', 'x'])('ignores the invalid version %j of a new object', async (version) => {
  expect((await create(version)).code).toBe(201);
});

it('rejects a new object with a version', async () => {
  const refused = await create('7');
  expect([refused.code, refused.json().message]).toEqual([500, 'resourceVersion should not be set on objects to be created']);
});

it('merges duplicate owner references on create and update', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
  const body = { metadata: { name: 'owned', ownerReferences: [owner, owner] } };
  for (const [method, at] of [
    ['POST', path],
    ['PUT', `${path}/owned`],
  ] as const) {
    const reply = await server.call(at, { method, body });
    expect(reply.json().metadata.ownerReferences).toEqual([owner]);
    expect(reply.headers['warning']).toContain('contains duplicate entries');
  }
});

const headers = { 'content-type': 'application/merge-patch+json' };

it('reports a taken name with a prefix as not unique, with a Retry-After', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = { metadata: { name: 'taken', generateName: 't' } };
  await server.call(path, { method: 'POST', body });
  const refused = await server.call(path, { method: 'POST', body });
  expect([refused.code, refused.json()]).toMatchObject([
    409,
    {
      reason: 'AlreadyExists',
      message: 'configmaps "taken" already exists, the server was not able to generate a unique name for the object',
      details: { name: 'taken', kind: 'configmaps', retryAfterSeconds: 1 },
    },
  ]);
});

it('returns selfLink in a dry run, and never stores it', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = { metadata: { name: 'linked', selfLink: '/x' } };
  expect((await server.call(`${path}?dryRun=All`, { method: 'POST', body })).json().metadata.selfLink).toBe('/x');
  expect((await server.call(path, { method: 'POST', body })).json().metadata.selfLink).toBeUndefined();
  const { resourceVersion } = (await server.call(`${path}/linked`)).json().metadata;
  const patch = (query: string) =>
    server.call(`${path}/linked${query}`, { method: 'PATCH', headers, body: { metadata: { selfLink: '/y' } } });
  expect((await patch('?dryRun=All')).json().metadata.selfLink).toBe('/y');
  expect((await patch('')).json().metadata).toMatchObject({ resourceVersion });
});

it('keeps the name of an object in deletion taken until it is gone', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = { metadata: { name: 'going', finalizers: ['example.com/wait'] } };
  await server.call(path, { method: 'POST', body });
  expect((await server.call(path, { method: 'POST', body })).json().message).toBe('configmaps "going" already exists');
  await server.call(`${path}/going`, { method: 'DELETE' });
  expect((await server.call(path, { method: 'POST', body })).json().message).toBe(
    'object is being deleted: configmaps "going" already exists',
  );
});

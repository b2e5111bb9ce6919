import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../../testing/harness.ts';
import { cowboys } from '../apis/testing.ts';

let server: TestServer;
const schemas = '/apis/apis.kcp.io/v1alpha1/apiresourceschemas';
const name = `${schemas}/today.cowboys.wildwest.dev`;
const types = '/apis/tenancy.kcp.io/v1alpha1/workspacetypes';
const copies = (rest: string, { cluster = 'provider', shard = 'root' } = {}): string =>
  `/services/cache/shards/${shard}/clusters/${cluster}${rest}`;

beforeAll(async () => {
  server = await startTestServer();
  await createWorkspace(server, 'provider');
  await server.call(`/clusters/provider${schemas}`, { method: 'POST', body: cowboys() });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the cache of the shards', () => {
  test('has copies that are annotated with their originals', async () => {
    const original = (await server.call(`/clusters/provider${name}`)).json();
    const { resourceVersion, uid, annotations } = original.metadata;
    const noted = {
      ...annotations,
      'kcp.io/shard': 'root',
      'cache.kcp.io/original-resource-version': resourceVersion,
      'cache.kcp.io/original-resource-UID': uid,
    };
    const expected = { ...original, metadata: { ...original.metadata, annotations: noted } };
    for (const shard of ['root', '*']) expect((await server.call(copies(name, { shard }))).json()).toEqual(expected);
    expect((await server.call(copies(schemas))).json().items).toMatchObject([{ metadata: { name: original.metadata.name } }]);
    expect((await server.call(copies(`${types}/universal`, { cluster: 'root' }))).json().metadata.annotations).toMatchObject({
      'kcp.io/shard': 'root',
    });
  });

  test('has nothing of other shards, and no other kinds', async () => {
    expect((await server.call(copies(name, { shard: 'other' }))).code).toBe(404);
    expect((await server.call(copies('/api/v1/namespaces/default/secrets'))).code).toBe(404);
    expect((await server.call('/services/cache/elsewhere/root/clusters/provider/api')).code).toBe(404);
  });

  test('is only open to the platform', async () => {
    const headers = { 'impersonate-user': 'pat', 'impersonate-group': 'system:kcp:admin' };
    expect((await server.call(copies(name), { headers })).code).toBe(403);
  });

  test('ignores changes and deletions, and rejects new objects', async () => {
    const before = (await server.call(copies(name))).json();
    const changed = { ...before, metadata: { ...before.metadata, annotations: { ...before.metadata.annotations, mine: 'yes' } } };
    expect((await server.call(copies(name), { method: 'PUT', body: changed })).json()).toEqual(before);
    expect((await server.call(copies(name), { method: 'DELETE' })).code).toBe(200);
    expect((await server.call(copies(name))).json()).toEqual(before);
    expect((await server.call(copies(schemas), { method: 'POST', body: cowboys('new') })).code).toBe(403);
    expect((await server.call(copies(schemas), { method: 'DELETE' })).code).toBe(403);
  });
});

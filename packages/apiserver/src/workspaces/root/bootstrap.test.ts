import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const get = async (path: string): Promise<KubeObject & { items?: KubeObject[] }> => (await server.call(`/clusters/root${path}`)).json();
const apis = '/apis/apis.kcp.io/v1alpha2';
const exported = ['shards.core.kcp.io', 'tenancy.kcp.io', 'topology.kcp.io'];

test('the root workspace exists and has a URL', async () => {
  expect(await get('/apis/core.kcp.io/v1alpha1/logicalclusters/cluster')).toMatchObject({
    metadata: { annotations: { 'kcp.io/cluster': 'root', 'kcp.io/path': 'root' } },
    status: { phase: 'Ready', URL: `${server.url}/clusters/root` },
  });
  expect(await get('/apis/core.kcp.io/v1alpha1/shards/root')).toMatchObject({ spec: { virtualWorkspaceURL: server.url } });
});

test('it exports kcp’s kinds, under identities whose keys are secret', async () => {
  const { items } = await get(`${apis}/apiexports`);
  expect(items!.map(({ metadata }) => metadata.name)).toEqual(exported);
  for (const { status } of items!) {
    expect(status).toMatchObject({
      identityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      conditions: [{ type: 'IdentityValid', status: 'True' }],
    });
  }
  expect((await get('/api/v1/namespaces/kcp-system/secrets')).items!.map(({ metadata }) => metadata.name)).toEqual(exported);
});

test('it binds its own exports', async () => {
  const { items } = await get(`${apis}/apibindings`);
  expect(items!.map(({ metadata, status }) => [metadata.name, (status as { phase: string }).phase])).toEqual(
    exported.map((name) => [name, 'Bound']),
  );
  expect((await get('/apis/tenancy.kcp.io/v1alpha1/workspaces')).items).toEqual([]);
});

test('it does not change when the server restarts', async () => {
  const before = [await get(`${apis}/apiexports`), await get(`${apis}/apibindings`)].flatMap(({ items }) => items);
  await server.restart();
  const after = [await get(`${apis}/apiexports`), await get(`${apis}/apibindings`)].flatMap(({ items }) => items);
  expect(after).toEqual(before);
});

test('brings types of older versions up to date at the next start, and keeps what the owner edited', async () => {
  const path = '/apis/tenancy.kcp.io/v1alpha1/workspacetypes';
  const put = async (name: string, change: (spec: Record<string, unknown>) => object, annotations?: Record<string, string>) => {
    const type = await get(`${path}/${name}`);
    const metadata = { ...type.metadata, ...(annotations && { annotations }) };
    const body = { ...type, metadata, spec: change(type['spec'] as Record<string, unknown>) };
    expect((await server.call(`/clusters/root${path}/${name}`, { method: 'PUT', body })).code).toBe(200);
  };
  // As a version without products wrote it.
  await put('project', (spec) => ({ ...spec, defaultAPIBindingLifecycle: undefined }), {});
  await put('home', (spec) => ({ ...spec, defaultAPIBindingLifecycle: 'InitializeOnly' }));
  await server.restart();
  expect(await get(`${path}/project`)).toMatchObject({ spec: { defaultAPIBindingLifecycle: 'Maintain' } });
  expect(await get(`${path}/home`)).toMatchObject({ spec: { defaultAPIBindingLifecycle: 'InitializeOnly' } });
  const before = await get(path);
  await server.restart();
  expect((await get(path)).items).toEqual(before.items);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const [id, type] of Object.entries({ proj: 'root:project', plain: 'root:universal', users: 'root:home' })) await make(id, type);
});
afterAll(() => server[Symbol.asyncDispose]());

const types = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes';
const kinds = 'capstan.dev/built-in-kinds';

async function make(id: string, type: string): Promise<void> {
  const metadata = { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': type } };
  const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata };
  const { code, text } = await server.call(`/clusters/${id}/apis/core.kcp.io/v1alpha1/logicalclusters`, { method: 'POST', body });
  if (code !== 201) throw new Error(text);
}

const typeOf = (name: string, annotation: string | undefined, extended = 'universal') => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name, ...(annotation !== undefined && { annotations: { [kinds]: annotation } }) },
  spec: { extend: { with: [{ name: extended, path: 'root' }] } },
});
const served = async (id: string, path: string): Promise<number> => (await server.call(`/clusters/${id}${path}`)).code;
const pods = '/api/v1/namespaces/default/pods';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };

describe('a workspace serves', () => {
  test.each([
    ['proj', 200],
    ['users', 200],
    ['plain', 404],
  ])('pods if its type says so: %s %d', async (id, code) => {
    expect(await served(id, pods)).toBe(code);
    expect((await server.call(`/clusters/${id}/api/v1`)).text.includes('"pods/log"')).toBe(code === 200);
    expect((await server.call(`/clusters/${id}/openapi/v3/api/v1`)).text.includes('/pods/{name}')).toBe(code === 200);
    expect(await served(id, deployments)).toBe(404);
    expect(await served(id, '/api/v1/namespaces/default/configmaps')).toBe(200);
  });

  test('the kinds of the types that its own extends, and of later versions of them', async () => {
    expect((await server.call(types, { method: 'POST', body: typeOf('derived', undefined, 'project') })).code).toBe(201);
    await make('derived1', 'root:derived');
    expect(await served('derived1', pods)).toBe(200);
    expect(await served('derived1', deployments)).toBe(404);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patch = (value: string | null) =>
      server.call(`${types}/derived`, { method: 'PATCH', headers, body: { metadata: { annotations: { [kinds]: value } } } });
    expect((await patch('*.apps')).code).toBe(200);
    expect(await served('derived1', deployments)).toBe(200);
    expect((await patch(null)).code).toBe(200);
    expect(await served('derived1', deployments)).toBe(404);
    expect(await served('derived1', pods)).toBe(200);
  });

  test('all kinds but those of the server, if the type says so', async () => {
    expect((await server.call(types, { method: 'POST', body: typeOf('whole', '*') })).code).toBe(201);
    await make('whole1', 'root:whole');
    expect(await served('whole1', deployments)).toBe(200);
    expect(await served('whole1', '/api/v1/nodes')).toBe(200);
    expect(await served('whole1', '/apis/apiregistration.k8s.io/v1/apiservices')).toBe(404);
    expect(await served('whole1', '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas')).toBe(404);
  });
});

describe('the annotation', () => {
  test('names kinds that exist', async () => {
    const { code, text } = await server.call(types, { method: 'POST', body: typeOf('wrong', 'pods,gizmos.apps') });
    expect([code, text]).toEqual([403, expect.stringContaining('found \\"gizmos.apps\\"')]);
  });

  test('is for types of the root workspace', async () => {
    const path = '/clusters/plain/apis/tenancy.kcp.io/v1alpha1/workspacetypes';
    const { code, text } = await server.call(path, { method: 'POST', body: typeOf('mine', '*') });
    expect([code, text]).toEqual([403, expect.stringContaining('only types of the root workspace')]);
  });
});

describe('pods in a workspace', () => {
  test('are stored, counted and shown like those of the root workspace', async () => {
    const created = await server.call(`/clusters/proj${pods}`, { method: 'POST', body: pod });
    expect(created.code).toBe(201);
    expect((await server.call('/clusters/*/api/v1/pods')).json().items).toHaveLength(1);
    expect((await server.call('/api/v1/pods')).json().items).toEqual([]);
  });

  test('cannot be defined by its users', async () => {
    const definition = (plural: string, kind: string) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.apps`, annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
      spec: {
        group: 'apps',
        scope: 'Cluster',
        names: { plural, kind },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const define = async (id: string) =>
      (await server.call(`/clusters/${id}${path}`, { method: 'POST', body: definition('deployments', 'Deployment') })).code;
    expect(await define('whole1')).toBe(403);
    expect(await define('proj')).toBe(201);
  });
});

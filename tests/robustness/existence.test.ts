import { createWorkspace, type Reply, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens: 'secret,mallory,1\n' });
  await createWorkspace(server, 'aaaa');
});
afterAll(() => server[Symbol.asyncDispose]());

test.each(['/api/v1/namespaces', '/api/v1/namespaces/a/secrets/b', '/', '/openapi/v2', '/apis/foo/v1/bars', '/api/v1/pods?watch=true'])(
  'users without access cannot tell from %s whether a workspace exists',
  async (path) => {
    const seen = async (cluster: string): Promise<unknown> => {
      const { code, headers, text } = await server.call(`/clusters/${cluster}${path}`, {
        anonymous: true,
        headers: { authorization: 'Bearer secret' },
      });
      const { 'audit-id': _id, date: _date, ...told } = headers;
      return { code, told, text };
    };
    const there = await seen('aaaa');
    expect(there).toMatchObject({ code: 403 });
    expect(await seen('bbbb')).toEqual(there);
  },
);

describe('a tenant with a workspace, an export and a type of their own', () => {
  const bearer = { authorization: 'Bearer secret' };
  const mine = (path: string, body: object): Promise<Reply> =>
    server.call(`/clusters/mine${path}`, { method: 'POST', anonymous: true, headers: bearer, body });
  const told = ({ code, headers, text }: Reply): unknown => {
    const { 'audit-id': _id, date: _date, ...rest } = headers;
    return { code, rest, text: text.replaceAll(/aaaa|bbbb|cccc/g, 'it') };
  };
  const read = async (path: string): Promise<unknown> => told(await server.call(path, { anonymous: true, headers: bearer }));

  beforeAll(async () => {
    const annotations = {
      'internal.tenancy.kcp.io/type': 'root:universal',
      'kcp.io/path': 'root:mine',
      'experimental.tenancy.kcp.io/owner': '{"username":"mallory"}',
    };
    const cluster = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster', annotations } };
    await server.call('/clusters/mine/apis/core.kcp.io/v1alpha1/logicalclusters', { method: 'POST', body: cluster });
    await server.call('/clusters/mine/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      method: 'POST',
      body: {
        metadata: { name: 'owner' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      },
    });
    const type = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'looker' },
      spec: { initializer: true },
    };
    expect((await mine('/apis/tenancy.kcp.io/v1alpha1/workspacetypes', type)).code).toBe(201);
    const exported = { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name: 'things' }, spec: {} };
    expect((await mine('/apis/apis.kcp.io/v1alpha2/apiexports', exported)).code).toBe(201);
  });

  test.each(['', '/apis', '/api/v1/namespaces', '/apis/core.kcp.io/v1alpha1/logicalclusters/cluster', '/openapi/v2'])(
    'learns nothing about others through the view of initializers at %s',
    async (path) => {
      const view = (cluster: string): string => `/services/initializingworkspaces/mine:looker/clusters/${cluster}${path}`;
      expect(await read(view('aaaa'))).toEqual(await read(view('bbbb')));
    },
  );

  test.each(['', '/apis', '/api/v1/namespaces', '/apis/apis.kcp.io/v1alpha2/apibindings', '/openapi/v2'])(
    'learns nothing about others through the view of the export at %s',
    async (path) => {
      const view = (cluster: string): string => `/services/apiexport/mine/things/clusters/${cluster}${path}`;
      expect(await read(view('aaaa'))).toEqual(await read(view('bbbb')));
    },
  );

  test('cannot tell types of others from missing ones', async () => {
    const foreign = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name: 'there' }, spec: {} };
    await server.call('/clusters/aaaa/apis/tenancy.kcp.io/v1alpha1/workspacetypes', { method: 'POST', body: foreign });
    const make = async (path: string, name: string): Promise<unknown> => {
      const body = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'x' }, spec: { type: { path, name } } };
      return told(await mine('/apis/tenancy.kcp.io/v1alpha1/workspaces', body));
    };
    const there = await make('aaaa', 'there');
    expect(there).toMatchObject({ code: 403 });
    expect(await make('bbbb', 'there')).toEqual(there);
    expect(JSON.parse(JSON.stringify(await make('aaaa', 'where')).replace('it:where', 'it:there'))).toEqual(there);
  });

  test('cannot tell a closed workspace from a missing one', async () => {
    await createWorkspace(server, 'cccc');
    await server.call('/clusters/cccc/apis/core.kcp.io/v1alpha1/logicalclusters/cluster', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { annotations: { 'internal.kcp.io/inactive': 'true' } } },
    });
    expect(await read('/clusters/cccc/api/v1/namespaces')).toEqual(await read('/clusters/bbbb/api/v1/namespaces'));
    expect((await server.call('/clusters/cccc/api/v1/namespaces')).text).toContain('marked inactive');
  });

  test('sees only workspaces of root that they may enter or have created', async () => {
    const workspaces = '/apis/tenancy.kcp.io/v1alpha1/workspaces';
    const make = async (name: string, cluster: string): Promise<void> => {
      const body = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec: { cluster, URL: 'https://x' } };
      expect((await server.call(workspaces, { method: 'POST', body })).code).toBe(201);
    };
    await make('of-mallory', 'mine');
    await make('of-others', 'aaaa');
    const list = async (path: string, headers: Record<string, string>): Promise<(string | undefined)[]> =>
      (await server.call(path, { anonymous: true, headers })).json().items!.map(({ metadata }) => metadata.name);
    for (const path of [workspaces, `/clusters/root${workspaces}`]) {
      expect(await list(path, bearer)).toEqual(['of-mallory']);
      expect((await server.call(path)).json().items!.map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(['of-mallory', 'of-others']),
      );
      expect((await server.call(`${path}/of-mallory`, { anonymous: true, headers: bearer })).code).toBe(200);
    }
    const without = (text: string): string => text.replaceAll(/of-others|of-nobody/g, 'it');
    const [there, missing] = await Promise.all(
      ['of-others', 'of-nobody'].map((name) => server.call(`${workspaces}/${name}`, { anonymous: true, headers: bearer })),
    );
    expect([there!.code, without(there!.text)]).toEqual([404, without(missing!.text)]);
    const impersonated = await server.call(workspaces, {
      headers: { 'impersonate-user': 'mallory', 'impersonate-group': 'system:authenticated' },
    });
    expect(impersonated.json().items!.map(({ metadata }) => metadata.name)).toEqual(['of-mallory']);
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';

interface Named {
  metadata: { name: string; annotations?: Record<string, string>; resourceVersion: string };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const id of ['aaaa', 'bbbb']) {
    await createWorkspace(server, id);
  }
  return () => server[Symbol.asyncDispose]();
});

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

describe('objects of a workspace', () => {
  test('are visible in it and nowhere else, and are annotated with their workspace', async () => {
    const created = await server.call(`/clusters/aaaa${roles}`, { method: 'POST', body: { metadata: { name: 'mine' }, rules: [] } });
    expect([created.code, (created.json() as Named).metadata.annotations]).toEqual([201, { 'kcp.io/cluster': 'aaaa' }]);
    expect((await server.call(`/clusters/bbbb${roles}/mine`)).code).toBe(404);
    expect((await server.call(`${roles}/mine`)).code).toBe(404);
    expect((await server.call(`/clusters/aaaa${roles}/mine`)).json()).toMatchObject({
      metadata: { annotations: { 'kcp.io/cluster': 'aaaa' } },
    });
  });

  test('are annotated with their workspace whatever the client sends, and no manager owns that annotation', async () => {
    const path = `/clusters/aaaa${roles}`;
    const body = { metadata: { name: 'liar', annotations: { 'kcp.io/cluster': 'bbbb', own: 'x' } }, rules: [] };
    await server.call(path, { method: 'POST', body });
    await server.call(`${path}/liar`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { annotations: { 'kcp.io/cluster': null, more: 'y' } } },
    });
    const { metadata } = (await server.call(`${path}/liar`)).json() as Named;
    expect(metadata.annotations).toEqual({ 'kcp.io/cluster': 'aaaa', own: 'x', more: 'y' });
  });

  test('are served as in Kubernetes if in root, with the annotation when requested by workspace', async () => {
    const { metadata: plain } = (await server.call(`${roles}/view`)).json() as Named;
    expect(plain.annotations).not.toHaveProperty(['kcp.io/cluster']);
    const { metadata: named } = (await server.call(`/clusters/root${roles}/view`)).json() as Named;
    expect(named).toEqual({ ...plain, annotations: { ...plain.annotations, 'kcp.io/cluster': 'root' } });
  });

  test('are listed across workspaces for users who may see all', async () => {
    for (const id of ['aaaa', 'bbbb'])
      await server.call(`/clusters/${id}${roles}`, { method: 'POST', body: { metadata: { name: 'both' }, rules: [] } });
    const { items } = (await server.call(`/clusters/*${roles}?fieldSelector=metadata.name=both`)).json() as { items: Named[] };
    expect(items.map(({ metadata }) => metadata.annotations)).toEqual([{ 'kcp.io/cluster': 'aaaa' }, { 'kcp.io/cluster': 'bbbb' }]);
    expect((await server.call(`/clusters/*${roles}`, { method: 'POST', body: { metadata: { name: 'all' }, rules: [] } })).code).toBe(405);
    expect((await server.call(`/clusters/*${roles}/both`)).code).toBe(405);
  });
});

describe('an unknown path', () => {
  test.each(['cccc', 'root:nothing', 'aaaa:nothing'])('%s is rejected like a workspace without access', async (path) => {
    expect((await server.call(`/clusters/${path}/api/v1/namespaces`, { anonymous: true })).code).toBe(403);
    expect((await server.call(`/clusters/${path}/api/v1/namespaces/default`)).code).toBe(404);
    expect((await server.call(`/clusters/${path}/api/v1/namespaces`)).json().items).toEqual([]);
  });

  test('an inactive workspace can only be entered to reactivate it', async () => {
    const own = '/clusters/aaaa/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';
    const mark = (value: string | null): Promise<unknown> =>
      server.call(own, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { annotations: { 'internal.kcp.io/inactive': value } } },
      });
    await mark('true');
    expect((await server.call('/clusters/aaaa/api/v1/namespaces')).code).toBe(403);
    await mark(null);
    expect((await server.call('/clusters/aaaa/api/v1/namespaces')).code).toBe(200);
  });

  test.each(['root%2Faaaa', 'AAAA', 'a_b', 'root::x', 'root:', '*a', 'aaaa%00', 'r%C3%B6%C3%B6t'])(
    '%s is rejected as malformed',
    async (path) => {
      expect((await server.call(`/clusters/${path}/api/v1/namespaces`)).code).toBe(400);
    },
  );
});

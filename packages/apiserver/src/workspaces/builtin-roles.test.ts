import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Call, createWorkspace, type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const inside = `/clusters/tenant${roles}`;
const people = [
  'admin',
  'cluster-admin',
  'edit',
  'platform-owner',
  'service-provider',
  'system:kcp:workspace:access',
  'user',
  'view',
  'viewer',
];
const rule = (resource: string): object => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });

beforeAll(async () => {
  server = await startTestServer({ tokens: 'ada-token,ada,1' });
  await createWorkspace(server, 'tenant');
});
afterAll(() => server[Symbol.asyncDispose]());

const names = (reply: Reply): string[] => reply.json().items!.map(({ metadata }) => metadata.name!);
const post = (path: string, body: object): Promise<Reply> => server.call(path, { method: 'POST', body });
const patch = (path: string, body: object, type = 'application/merge-patch+json'): Promise<Reply> =>
  server.call(path, { method: 'PATCH', body, headers: { 'content-type': type } });
const rulesOf = async (name: string): Promise<unknown> => ((await server.call(`${inside}/${name}`)).json() as KubeObject)['rules'];
const asAda = (path: string, call: Call = {}): Promise<Reply> =>
  server.call(path, { ...call, anonymous: true, headers: { ...call.headers, authorization: 'Bearer ada-token' } });

describe('the built-in roles of every workspace', () => {
  it('are listed, and read by name with their rules', async () => {
    expect(names(await server.call(inside))).toEqual(people);
    const view = (await server.call(`${inside}/view`)).json() as KubeObject & { rules: { resources?: string[] }[] };
    expect(view.metadata).toEqual({
      name: 'view',
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { 'kcp.io/cluster': 'tenant' },
    });
    expect(view.rules.flatMap(({ resources = [] }) => resources)).toContain('configmaps');
    expect(names(await server.call(`${inside}?fieldSelector=metadata.name%3Duser`))).toEqual(['user']);
    expect(names(await server.call(`${inside}?labelSelector=mine`))).toEqual([]);
    expect(names(await server.call(`${inside}?limit=500`))).toEqual(people);
    const table = await server.call(inside, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
    expect((table.json() as unknown as { rows: unknown[] }).rows).toHaveLength(people.length);
  });

  it('let users reach the APIs of bound objects, open shells on them and read their logs, and viewers only read the logs', async () => {
    const shells = { apiGroups: ['workspaces.capstan.dev'], resources: ['boundobjects/exec'], verbs: ['create', 'get'] };
    expect(await rulesOf('user')).toContainEqual(shells);
    const resources = async (name: string): Promise<string> => JSON.stringify(await rulesOf(name));
    expect(await resources('user')).toContain('boundobjects/log');
    expect(await resources('user')).toContain('boundobjects/proxy');
    expect(await resources('viewer')).toContain('boundobjects/log');
    expect(await resources('viewer')).not.toMatch(/boundobjects\/(exec|proxy)/);
  });

  it('are merged with the roles that root stores', async () => {
    const all = names(await server.call(roles));
    for (const name of people) expect(all.filter((one) => one === name)).toEqual([name]);
    expect((await server.call(`${roles}/view`)).json().metadata.uid).toBeDefined();
    expect((await server.call(`${roles}/user`)).json().metadata.uid).toBeUndefined();
  });

  it('are hidden from informers, from requests across all workspaces, and where there is no workspace', async () => {
    expect(names(await server.call(`${inside}?resourceVersion=0`))).toEqual([]);
    expect(names(await server.call(`/clusters/*${roles}`))).not.toContain('user');
    expect(names(await server.call(`/clusters/nowhere${roles}`))).toEqual([]);
    expect((await server.call(`/clusters/nowhere${roles}/view`)).code).toBe(404);
  });

  it('are only visible to users who may read roles', async () => {
    expect((await asAda(`${inside}/view`)).code).toBe(403);
    expect((await asAda(inside)).code).toBe(403);
  });
});

describe('a role of the same name', () => {
  it('can be created, hides the built-in one, and reveals it again when deleted', async () => {
    expect((await post(inside, { metadata: { name: 'user' }, rules: [rule('secrets')] })).code).toBe(201);
    expect(await rulesOf('user')).toEqual([rule('secrets')]);
    expect(names(await server.call(inside))).toEqual(people);
    expect((await server.call(`${inside}/user`, { method: 'DELETE' })).code).toBe(200);
    expect(await rulesOf('user')).not.toEqual([rule('secrets')]);
    const again = await server.call(`${inside}/user`, { method: 'DELETE' });
    expect([again.code, again.json().message]).toEqual([
      404,
      expect.stringContaining('it is built in, and nothing of that name is stored'),
    ]);
  });

  it('is stored when a client patches or replaces the built-in one', async () => {
    const changed = await patch(`${inside}/viewer`, { rules: [rule('pods')] }, 'application/strategic-merge-patch+json');
    expect([changed.code, changed.json().metadata.uid]).toEqual([201, expect.any(String)]);
    expect(await rulesOf('viewer')).toEqual([rule('pods')]);
    const edit = (await server.call(`${inside}/edit`)).json();
    expect((await server.call(`${inside}/edit`, { method: 'PUT', body: { ...edit, rules: [rule('pods')] } })).code).toBe(201);
    expect(await rulesOf('edit')).toEqual([rule('pods')]);
    const admin = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'admin' }, rules: [rule('pods')] };
    expect((await patch(`${inside}/admin?fieldManager=test`, admin, 'application/apply-patch+yaml')).code).toBe(201);
    expect(await rulesOf('admin')).toEqual([rule('pods')]);
  });

  it('cannot escalate privileges', async () => {
    const grant = { metadata: { name: 'ada' }, subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ada' }] };
    const rules = [
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['get', 'create', 'patch', 'update'] },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ];
    await post(inside, { metadata: { name: 'writes-roles' }, rules });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writes-roles' };
    await post(`/clusters/tenant/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, { ...grant, roleRef });
    const body = { rules: [rule('secrets')] };
    const headers = { 'content-type': 'application/merge-patch+json' };
    const tried = await asAda(`${inside}/view`, { method: 'PATCH', body, headers });
    expect([tried.code, tried.json().message]).toEqual([
      403,
      expect.stringContaining('attempting to grant RBAC permissions not currently held'),
    ]);
    expect((await asAda(`${inside}/view`, { method: 'PATCH', body: { metadata: { labels: { a: 'b' } } }, headers })).code).toBe(403);
  });
});

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { cachedResource, flavorDefinition, flavors } from './testing.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  for (const [id, scope] of [
    ['provider', 'Cluster'],
    ['other', 'Namespaced'],
  ] as const) {
    await createWorkspace(server, id);
    await post(`/clusters/${id}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, flavorDefinition(scope));
    await vi.waitFor(async () => expect((await server.call(`/clusters/${id}${flavors}`)).code).toBe(200));
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Reply> =>
  server.call(path, { method: 'POST', body, headers });
const cached = (cluster: string): string => `/clusters/${cluster}/apis/cache.kcp.io/v1alpha1/cachedresources`;
const told = ({ code, ...reply }: Reply): [number, string | undefined] => [code, reply.json().message];

describe('a CachedResource', () => {
  test('is annotated with the path of its workspace', async () => {
    const reply = await post(cached('provider'), cachedResource('flavors'));
    expect([reply.code, reply.json()]).toMatchObject([201, { metadata: { annotations: { 'kcp.io/path': 'provider' } } }]);
  });

  test('is the only one for its kind in a workspace', async () => {
    expect(told(await post(cached('provider'), cachedResource('again')))).toEqual([
      403,
      'cachedresources.cache.kcp.io "again" is forbidden: spec: Invalid value: "cloud.example.com.v1.flavors": CachedResource with this GVR already exists in the "provider" workspace',
    ]);
  });

  test('must be for a cluster-scoped kind', async () => {
    expect(told(await post(cached('other'), cachedResource('flavors')))).toEqual([
      403,
      'cachedresources.cache.kcp.io "flavors" is forbidden: spec: Invalid value: "flavors.cloud.example.com": Resource referenced in CachedResource must be cluster-scoped',
    ]);
  });

  test.each([
    ['', 'v1', 'secrets'],
    ['', 'v1', 'namespaces'],
    ['rbac.authorization.k8s.io', 'v1', 'clusterroles'],
    ['apis.kcp.io', 'v1alpha2', 'apiexports'],
    ['tenancy.kcp.io', 'v1alpha1', 'workspaces'],
    ['cache.kcp.io', 'v1alpha1', 'cachedresources'],
  ])('cannot publish built-in or platform kinds: %s/%s/%s', async (group, version, resource) => {
    const reply = await post(cached('provider'), cachedResource('theirs', { group, version, resource }));
    expect(told(reply)).toEqual([403, expect.stringContaining('must not be a built-in or platform kind')]);
  });

  test('cannot be changed to publish one of those', async () => {
    const found = (await server.call(`${cached('provider')}/flavors`)).json();
    const body = { ...found, spec: { group: '', version: 'v1', resource: 'secrets' } };
    const reply = await server.call(`${cached('provider')}/flavors`, { method: 'PUT', body });
    expect(told(reply)).toEqual([403, expect.stringContaining('must not be a built-in or platform kind')]);
  });

  test('needs a valid selector', async () => {
    const labelSelector = { matchExpressions: [{ key: 'tier', operator: 'Near', values: ['gold'] }] };
    const reply = await post(cached('provider'), cachedResource('wrong', { resource: 'others', labelSelector }));
    expect(told(reply)).toEqual([422, expect.stringContaining('not a valid selector operator')]);
  });

  test('needs permission to read the published objects', async () => {
    const rbac = '/clusters/provider/apis/rbac.authorization.k8s.io/v1';
    const rules = [
      { apiGroups: ['cache.kcp.io'], resources: ['cachedresources'], verbs: ['*'] },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'eve' };
    const subjects = [{ kind: 'User', name: 'eve', apiGroup: 'rbac.authorization.k8s.io' }];
    await post(`${rbac}/clusterroles`, { metadata: { name: 'eve' }, rules });
    await post(`${rbac}/clusterrolebindings`, { metadata: { name: 'eve' }, roleRef, subjects });
    const eve = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
    expect(told(await post(cached('provider'), cachedResource('theirs', { version: 'v2' }), eve))).toEqual([
      403,
      'cachedresources.cache.kcp.io "theirs" is forbidden: unable to publish flavors.cloud.example.com: no permission to list them in this workspace',
    ]);
    const found = (await server.call(`${cached('provider')}/flavors`)).json();
    const wider = { ...found, spec: { ...(found['spec'] as object), labelSelector: { matchLabels: { hidden: 'yes' } } } };
    const reply = await server.call(`${cached('provider')}/flavors`, { method: 'PUT', body: wider, headers: eve });
    expect(told(reply)).toEqual([403, expect.stringContaining('no permission to list them in this workspace')]);
  });
});

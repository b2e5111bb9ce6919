import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Call, createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { flavor, flavors, Publishing } from '../caching/testing.ts';

let server: TestServer;
let publishing: Publishing;

beforeAll(async () => {
  server = await startTestServer();
  publishing = new Publishing(server);
  for (const id of ['provider', 'one', 'two', 'stranger']) await createWorkspace(server, id);
  await publishing.publish('provider', { labelSelector: { matchLabels: { public: 'yes' } } });
  await vi.waitFor(async () => expect((await server.call(`/clusters/provider${flavors}`)).code).toBe(200));
  for (const [name, labels] of [
    ['large', { public: 'yes' }],
    ['hidden', {}],
  ] as const)
    await publishing.put(`/clusters/provider${flavors}`, flavor(name, labels));
  for (const id of ['one', 'two']) await publishing.bind(id, 'provider');
  const rbac = '/clusters/provider/apis/rbac.authorization.k8s.io/v1';
  const rules = [
    { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: ['catalog'], verbs: ['*'] },
    { nonResourceURLs: ['/'], verbs: ['access'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'pat' };
  const subjects = [{ kind: 'User', name: 'pat', apiGroup: 'rbac.authorization.k8s.io' }];
  await publishing.put(`${rbac}/clusterroles`, { metadata: { name: 'pat' }, rules });
  await publishing.put(`${rbac}/clusterrolebindings`, { metadata: { name: 'pat' }, roleRef, subjects });
});
afterAll(() => server[Symbol.asyncDispose]());

const as = (user: string): Record<string, string> => ({ 'impersonate-user': user, 'impersonate-group': 'system:authenticated' });
const look = (path: string, call: Call = {}, user = 'pat'): Promise<Reply> => server.call(path, { ...call, headers: as(user) });
const replication = (cluster: string, rest = flavors): string => `/services/replication/provider/flavors/clusters/${cluster}${rest}`;
const exported = (cluster: string, rest = flavors): string => `/services/apiexport/provider/catalog/clusters/${cluster}${rest}`;
const placed = (reply: Reply): string[] =>
  reply.json().items!.map(({ metadata }: KubeObject) => `${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`);

describe.each([
  ['replication', replication],
  ['apiexport', exported],
])('the view %s', (_, view) => {
  test('shows an object once per consumer, and nothing else', async () => {
    expect(placed(await look(view('*')))).toEqual(['one/large', 'two/large']);
    expect(placed(await look(view('two')))).toEqual(['two/large']);
    expect((await look(view('two', `${flavors}/large`))).json().metadata.annotations).toEqual({ 'kcp.io/cluster': 'two' });
    expect((await look(view('two', `${flavors}/hidden`))).code).toBe(404);
    expect((await look(view('two', '/api/v1/secrets'))).code).not.toBe(200);
  });

  test('shows nothing in unbound workspaces, nor in the provider’s own', async () => {
    for (const cluster of ['stranger', 'provider']) expect((await look(view(cluster))).code).toBe(403);
  });

  test('requires permission, and is read-only', async () => {
    for (const cluster of ['one', '*']) expect((await look(view(cluster), {}, 'somebody')).code).toBe(403);
    for (const [method, rest] of [
      ['POST', flavors],
      ['PUT', `${flavors}/large`],
      ['DELETE', `${flavors}/large`],
      ['DELETE', flavors],
    ] as const) {
      const { code } = await look(view('one', rest), { method, ...(method !== 'DELETE' && { body: flavor('large') }) });
      expect([method, code]).toEqual([method, view === replication ? 403 : 405]);
    }
    expect((await server.call(`/clusters/provider${flavors}/large`)).json()['spec']).toEqual({ gpus: 8 });
  });

  test('sends an event once per consumer to a watch across workspaces', async () => {
    const name = view === replication ? 'first' : 'second';
    const { resourceVersion } = (await look(view('*'))).json().metadata;
    const watching = server.watch(`${view('*')}?watch=1&resourceVersion=${resourceVersion}`, 4);
    const made = await publishing.put(`/clusters/provider${flavors}`, flavor(name, { public: 'yes' }));
    await server.call(`/clusters/provider${flavors}/${made.metadata.name}`, { method: 'DELETE' });
    const seen = (await watching).map(
      ({ type, object: { metadata } }) => `${type} ${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`,
    );
    expect(seen).toEqual([`ADDED one/${name}`, `ADDED two/${name}`, `DELETED one/${name}`, `DELETED two/${name}`]);
  });

  test('has discovery of its kind', async () => {
    const { resources } = (await look(view('one', '/apis/cloud.example.com/v1'))).json() as unknown as { resources: { name: string }[] };
    expect(resources).toMatchObject([{ name: 'flavors', verbs: ['get', 'list', 'watch'] }]);
  });
});

test('an object that starts to match the selector of a watch is sent as MODIFIED', async () => {
  const { resourceVersion } = (await look(replication('one'))).json().metadata;
  const watching = server.watch(`${replication('one')}?watch=1&labelSelector=tier=gold&resourceVersion=${resourceVersion}`, 2);
  const made = await publishing.put(`/clusters/provider${flavors}`, flavor('rising', { public: 'yes' }));
  const labels = { public: 'yes', tier: 'gold' };
  await publishing.put(`/clusters/provider${flavors}/rising`, { ...made, metadata: { ...made.metadata, labels } }, 'PUT');
  await server.call(`/clusters/provider${flavors}/rising`, { method: 'DELETE' });
  expect((await watching).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual(['MODIFIED rising', 'DELETED rising']);
});

test('a view of a missing CachedResource is forbidden', async () => {
  expect((await look(`/services/replication/provider/other/clusters/one${flavors}`)).code).toBe(403);
  expect((await look(`/services/replication/nowhere/flavors/clusters/one${flavors}`)).code).toBe(403);
});

test('a watch across workspaces restarts when a workspace binds', async () => {
  const watching = server.watchUntil(`${replication('*')}?watch=1`, ({ type }) => type === 'ERROR');
  await createWorkspace(server, 'three');
  await publishing.bind('three', 'provider');
  expect((await watching).at(-1)!.object).toMatchObject({ code: 410, reason: 'Expired' });
  expect(placed(await look(replication('*')))).toEqual(['one/large', 'three/large', 'two/large']);
});

describe('a provider with a claim on published objects', () => {
  const claimed = (cluster: string, rest = flavors): string => `/services/apiexport/claimer/helper/clusters/${cluster}${rest}`;

  beforeAll(async () => {
    await createWorkspace(server, 'claimer');
    const { identityHash } = (await server.call('/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports/catalog')).json()['status'] as {
      identityHash: string;
    };
    const claim = { group: 'cloud.example.com', resource: 'flavors', identityHash, verbs: ['*'] };
    const helper = {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'helper' },
      spec: { permissionClaims: [claim] },
    };
    const made = await publishing.put('/clusters/claimer/apis/apis.kcp.io/v1alpha2/apiexports', helper);
    const path = '/clusters/claimer/apis/apis.kcp.io/v1alpha2/apiexports/helper/status';
    await publishing.put(path, { ...made, status: { identityHash: 'helper' } }, 'PUT');
    for (const [cluster, state] of [
      ['one', 'Accepted'],
      ['two', 'Rejected'],
    ] as const) {
      const bindings = `/clusters/${cluster}/apis/apis.kcp.io/v1alpha2/apibindings`;
      const spec = {
        reference: { export: { path: 'claimer', name: 'helper' } },
        permissionClaims: [{ ...claim, selector: { matchAll: true }, state }],
      };
      const binding = await publishing.put(bindings, { ...helper, kind: 'APIBinding', spec });
      const status = { apiExportClusterName: 'claimer', phase: 'Bound', boundResources: [] };
      await publishing.put(`${bindings}/helper/status`, { ...binding, status }, 'PUT');
    }
  });

  test('sees them where the claim is accepted, and cannot write them either', async () => {
    expect(placed(await server.call(claimed('*')))).toEqual(['one/large']);
    expect(placed(await server.call(claimed('one')))).toEqual(['one/large']);
    expect((await server.call(claimed('one', `${flavors}/large`))).code).toBe(200);
    expect((await server.call(claimed('two'), { headers: as('pat') })).code).toBe(403);
    expect((await server.call(claimed('one'), { method: 'POST', body: flavor('mine') })).code).toBe(405);
    expect((await server.call(claimed('one', `${flavors}/large`), { method: 'DELETE' })).code).toBe(405);
  });
});

import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../../testing/harness.ts';
import { bind, share } from '../apis/testing.ts';

let server: TestServer;
beforeAll(async () => void (server = await startTestServer()));
afterAll(() => server[Symbol.asyncDispose]());

const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';
const content = (id: string): string => `/capstan/workspaces/${id}/content`;

/** Makes a workspace of a type, as the workspace controller does. */
async function begin(id: string, type = 'root:universal', annotations: Record<string, string> = {}): Promise<KubeObject> {
  const reply = await server.call(`/clusters/${id}${logicalClusters}`, {
    method: 'POST',
    body: {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': type, 'kcp.io/path': `root:${id}`, ...annotations } },
    },
  });
  if (reply.code !== 201) throw new Error(reply.text);
  return reply.json();
}

async function names(path: string): Promise<string[]> {
  return (await server.call(path)).json().items!.map(({ metadata }) => metadata.name!);
}

const put = (path: string, body: object): Promise<unknown> => server.call(path, { method: 'POST', body });
const configMap = (name: string, finalizers?: string[]): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, finalizers },
});

describe('a workspace that begins', () => {
  it('has its first objects, its owner and what its type binds', async () => {
    const cluster = await begin('beginning', 'root:universal', { 'experimental.tenancy.kcp.io/owner': '{"username":"alice"}' });
    expect(cluster['status']).toMatchObject({ phase: 'Ready', URL: `${server.url}/clusters/beginning` });
    expect(cluster['spec']).toMatchObject({ initializers: ['root:universal', 'system:apibindings'] });
    expect(await names('/clusters/beginning/api/v1/namespaces')).toEqual(['default', 'kube-system']);
    expect(await names('/clusters/beginning/api/v1/serviceaccounts')).toEqual(['default', 'default']);
    expect(await names('/clusters/beginning/api/v1/configmaps')).toEqual(['kube-root-ca.crt', 'kube-root-ca.crt']);
    const bindings = '/clusters/beginning/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/workspace-admin';
    expect((await server.call(bindings)).json()['subjects']).toMatchObject([{ kind: 'User', name: 'alice' }]);
    expect(await names('/clusters/beginning/apis/tenancy.kcp.io/v1alpha1/workspaces')).toEqual([]);
    const bound = (await server.call('/clusters/beginning/apis/apis.kcp.io/v1alpha2/apibindings')).json().items!;
    expect(bound.length).toBeGreaterThan(0);
    for (const { metadata } of bound) {
      expect(metadata.finalizers).toEqual(['apis.kcp.io/apibinding-finalizer']);
      const selected = `internal.apis.kcp.io/export=${metadata.labels!['internal.apis.kcp.io/export']}`;
      expect(await names(`/clusters/beginning/apis/apis.kcp.io/v1alpha2/apibindings?labelSelector=${selected}`)).toEqual([metadata.name]);
    }
  });

  it('is made of what its type inherits, and waits for whoever wants to initialize it', async () => {
    await put('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes', {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'waits' },
      spec: { initializer: true, terminator: true, extend: { with: [{ name: 'universal', path: 'root' }] } },
    });
    const cluster = await begin('waiting', 'root:waits');
    expect(cluster['status']).toMatchObject({ phase: 'Initializing', initializers: ['root:waits'], terminators: ['root:waits'] });
    expect(cluster.metadata.finalizers).toContain('kcp.io/has-terminators');
    expect(cluster.metadata.labels?.['tenancy.kcp.io/phase']).toBe('Initializing');
  });

  it('is not made by users', async () => {
    const { code } = await server.call(`/clusters/stolen${logicalClusters}`, {
      method: 'POST',
      anonymous: true,
      body: { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster' } },
    });
    expect(code).toBe(403);
  });
});

describe('purging a workspace', () => {
  it('takes everything at once, and nothing of its neighbours', async () => {
    await begin('first');
    await begin('first-too');
    await put('/clusters/first/api/v1/namespaces/default/configmaps', configMap('a'));
    expect((await server.call(content('first'), { method: 'DELETE' })).json()).toMatchObject({
      gone: true,
      remains: { resources: {}, finalizers: {} },
    });
    expect(await names('/clusters/first/api/v1/namespaces')).toEqual([]);
    expect((await server.call('/clusters/first/api/v1/namespaces/default')).code).toBe(404);
    expect(await names('/clusters/first-too/api/v1/namespaces')).toEqual(['default', 'kube-system']);
    expect((await server.call(content('first'), { method: 'DELETE' })).json()).toMatchObject({ gone: true });
  });

  it('marks what somebody else has to let go of, says so, and keeps it reachable', async () => {
    await begin('held');
    await put('/clusters/held/api/v1/namespaces/default/configmaps', configMap('free'));
    await put('/clusters/held/api/v1/namespaces/default/configmaps', configMap('kept', ['example.com/hold']));
    const purge = async (): Promise<unknown> => (await server.call(content('held'), { method: 'DELETE' })).json();
    expect(await purge()).toMatchObject({
      gone: false,
      remains: { resources: { 'configmaps.': 1 }, finalizers: { 'example.com/hold': 1 } },
    });
    expect(await names('/clusters/held/api/v1/configmaps')).toEqual(['kept']);
    expect(await names('/clusters/held/api/v1/namespaces')).toEqual(['default', 'kube-system']);
    expect((await server.call(`/clusters/held${logicalClusters}/cluster`)).json().metadata.deletionTimestamp).toBeDefined();
    await server.call('/clusters/held/api/v1/namespaces/default/configmaps/kept', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { finalizers: null } },
    });
    expect(await purge()).toMatchObject({ gone: true });
  });

  it('waits for the provider of an API, and not for one that is gone', async () => {
    await createWorkspace(server, 'provider');
    await begin('consumer');
    await bind(server, { provider: 'provider', consumer: 'consumer', shared: await share(server, 'provider') });
    await put('/clusters/consumer/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys', {
      apiVersion: 'wildwest.dev/v1alpha1',
      kind: 'Cowboy',
      metadata: { name: 'billy', finalizers: ['wildwest.dev/hold'] },
    });
    const purge = async (): Promise<unknown> => (await server.call(content('consumer'), { method: 'DELETE' })).json();
    expect(await purge()).toMatchObject({
      gone: false,
      remains: { resources: { 'cowboys.wildwest.dev': 1 }, finalizers: { 'wildwest.dev/hold': 1 } },
    });
    await server.call('/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports/cowboys', { method: 'DELETE' });
    expect(await purge()).toMatchObject({ gone: true });
  });

  it('waits for terminators with everything in place', async () => {
    await begin('terminated', 'root:waits');
    expect((await server.call(content('terminated'), { method: 'DELETE' })).json()).toMatchObject({ gone: false });
    expect(await names('/clusters/terminated/api/v1/namespaces')).toEqual(['default', 'kube-system']);
  });

  it('is not done to the root workspace, nor from within a workspace, nor through a view', async () => {
    expect((await server.call(content('root'), { method: 'DELETE' })).code).toBe(404);
    await begin('within');
    expect((await server.call(`/clusters/within${content('first-too')}`, { method: 'DELETE' })).code).toBe(404);
    expect((await server.call('/clusters/within/capstan/snapshot')).code).toBe(404);
    expect((await server.call('/clusters/within/metrics')).code).toBe(404);
    const view = '/services/apiexport/root/tenancy.kcp.io/clusters/root';
    expect((await server.call(`${view}/version`)).code).toBe(200);
    for (const page of ['/capstan/journal', '/capstan/snapshot', '/metrics']) expect((await server.call(`${view}${page}`)).code).toBe(404);
    expect((await server.call(`${view}${content('first-too')}`, { method: 'DELETE' })).code).toBe(404);
  });
});

describe('moving a workspace', () => {
  it('exports its objects and imports them under new identities, with their owners', async () => {
    await begin('source');
    await createWorkspace(server, 'target');
    await put('/clusters/source/api/v1/namespaces/default/configmaps', configMap('owner'));
    const at = '/api/v1/namespaces/default/configmaps/owner';
    const { uid } = (await server.call(`/clusters/source${at}`)).json().metadata;
    const owned = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owned', ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }] },
    };
    await put('/clusters/source/api/v1/namespaces/default/configmaps', owned);
    const body = (await server.call(content('source'))).text;
    const answer = (await server.call(content('target'), { method: 'POST', body })).json();
    expect(answer).toMatchObject({ kept: [], skipped: [] });
    const moved = (await server.call(`/clusters/target${at}`)).json();
    expect(moved.metadata.uid).not.toBe(uid);
    const dependent = (await server.call('/clusters/target/api/v1/namespaces/default/configmaps/owned')).json();
    expect(dependent.metadata.ownerReferences?.[0]?.uid).toBe(moved.metadata.uid);
    expect(dependent.metadata.annotations).toMatchObject({ 'kcp.io/cluster': 'target' });
  });

  it('refuses what is no export, naming the line', async () => {
    await createWorkspace(server, 'empty');
    const { code, text } = await server.call(content('empty'), { method: 'POST', body: '{"kind":"Nothing"}\n' });
    expect([code, text]).toEqual([400, expect.stringContaining('line 1')]);
  });

  it('refuses objects of the platform that do not fit their schema, since the server trusts stored ones', async () => {
    await createWorkspace(server, 'crafted');
    const header = '{"kind":"CapstanWorkspace","version":1,"cluster":"x","path":"root:x","revision":1}';
    const place = 'apis.kcp.io/apiexports//evil';
    const exported = { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name: 'evil' } };
    const send = async (object: object): Promise<[number, string]> => {
      const body = `${header}\n${JSON.stringify({ at: place, object })}\n`;
      const { code, text } = await server.call(content('crafted'), { method: 'POST', body });
      return [code, text];
    };
    expect(await send({ ...exported, spec: { resources: 5 } })).toEqual([400, expect.stringContaining(`line 2: ${place} does not fit`)]);
    const disguised = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'evil' }, spec: { resources: 5 } };
    expect(await send(disguised)).toEqual([400, expect.stringContaining('is not stored there')]);
    expect((await send({ ...exported, spec: {} }))[0]).toBe(200);
  });
});

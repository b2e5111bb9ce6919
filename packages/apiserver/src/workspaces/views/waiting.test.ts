import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Call, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

const tokens = ['helper-token,helper,1', 'stranger-token,stranger,2', 'maker-token,maker,3,"makers"'].join('\n');
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ tokens });
  await post('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes', {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name: 'helped' },
    spec: { initializer: true, terminator: true, extend: { with: [{ name: 'universal', path: 'root' }] } },
  });
  const rules = [
    { apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], resourceNames: ['helped'], verbs: ['initialize', 'terminate'] },
  ];
  const rbac = 'rbac.authorization.k8s.io';
  await post(`/apis/${rbac}/v1/clusterroles`, { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'help' }, rules });
  await post(`/apis/${rbac}/v1/clusterrolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'help' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'help' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'helper' }],
  });
  for (const id of ['first', 'second']) await begin(id, 'root:helped');
  await begin('ready', 'root:universal');
});
afterAll(() => server[Symbol.asyncDispose]());

const view = '/services/initializingworkspaces/root:helped/clusters';
const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';
const merge = { 'content-type': 'application/merge-patch+json' };

async function post(path: string, body: object): Promise<KubeObject> {
  const reply = await server.call(path, { method: 'POST', body });
  if (reply.code !== 201) throw new Error(reply.text);
  return reply.json();
}

function begin(id: string, type: string): Promise<KubeObject> {
  const annotations = {
    'internal.tenancy.kcp.io/type': type,
    'kcp.io/path': `root:${id}`,
    'experimental.tenancy.kcp.io/owner': '{"username":"maker","groups":["makers","system:authenticated"]}',
  };
  return post(`/clusters/${id}${logicalClusters}`, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations },
  });
}

const as = (user: string, path: string, call: Call = {}): Promise<Reply> =>
  server.call(path, { anonymous: true, ...call, headers: { ...call.headers, authorization: `Bearer ${user}-token` } });
const clustersOf = (reply: Reply): string[] => reply.json().items!.map(({ metadata }) => metadata.annotations!['kcp.io/cluster']!);

describe('an initializer of a workspace type', () => {
  it('sees the workspaces that wait for it, and no others', async () => {
    expect(clustersOf(await as('helper', `${view}/*${logicalClusters}`))).toEqual(['first', 'second']);
    expect((await as('helper', `${view}/ready${logicalClusters}/cluster`)).code).toBe(404);
    expect((await as('helper', `${view}/ready/api/v1/namespaces`)).code).toBe(403);
  });

  it('needs permission on the type', async () => {
    expect((await as('stranger', `${view}/*${logicalClusters}`)).code).toBe(403);
    expect((await as('stranger', `${view}/first${logicalClusters}/cluster`)).code).toBe(403);
    expect((await as('stranger', `${view}/first/api/v1/namespaces`)).code).toBe(403);
    expect((await as('helper', `/services/initializingworkspaces/root:universal/clusters/*${logicalClusters}`)).code).toBe(403);
    expect((await as('helper', `/services/initializingworkspaces/nonsense/clusters/*${logicalClusters}`)).code).toBe(403);
  });

  it('acts in them on behalf of their creator', async () => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' } };
    expect((await as('helper', `${view}/first/api/v1/namespaces/default/configmaps`, { method: 'POST', body })).code).toBe(201);
    expect((await as('helper', '/clusters/first/api/v1/namespaces')).code).toBe(403);
  });

  it('can grant rights of the owner in them, and none elsewhere', async () => {
    const rbac = 'rbac.authorization.k8s.io';
    const body = {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'friends' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: 'friend' }],
    };
    expect((await as('helper', `${view}/first/apis/${rbac}/v1/clusterrolebindings`, { method: 'POST', body })).code).toBe(201);
    const all = { ...body, metadata: { name: 'all' }, roleRef: { ...body.roleRef, name: 'cluster-admin' } };
    expect((await as('helper', `/clusters/root/apis/${rbac}/v1/clusterrolebindings`, { method: 'POST', body: all })).code).toBe(403);
  });

  it('is authorized as the impersonated user', async () => {
    const impersonating = { headers: { 'impersonate-user': 'stranger', 'impersonate-group': 'system:authenticated' } };
    expect((await server.call(`${view}/*${logicalClusters}`)).code).toBe(200);
    for (const path of [`${view}/*${logicalClusters}`, `${view}/first${logicalClusters}/cluster`, `${view}/first/api/v1/secrets`])
      expect((await server.call(path, impersonating)).code).toBe(403);
  });

  it('can only remove its own name from the list', async () => {
    const path = `${view}/first${logicalClusters}/cluster/status`;
    const refused = await as('helper', path, { method: 'PATCH', headers: merge, body: { status: { conditions: [] } } });
    expect([refused.code, refused.json().message]).toEqual([
      422,
      expect.stringContaining('only removing the "root:helped" initializer is supported'),
    ]);
    const whole = `${view}/first${logicalClusters}/cluster`;
    expect((await as('helper', whole, { method: 'PATCH', headers: merge, body: { metadata: { labels: { a: 'b' } } } })).code).toBe(405);
    expect((await as('helper', whole, { method: 'DELETE' })).code).toBe(405);
    expect((await as('helper', path, { method: 'PATCH', headers: merge, body: { status: { initializers: [] } } })).code).toBe(200);
    expect(clustersOf(await as('helper', `${view}/*${logicalClusters}`))).toEqual(['second']);
    expect((await as('helper', `${view}/first/api/v1/namespaces`)).code).toBe(403);
  });

  it('sees only the kind LogicalCluster', async () => {
    const { resources } = (await as('helper', `${view}/*/apis/core.kcp.io/v1alpha1`)).json() as unknown as {
      resources: { name: string; verbs: string[] | null }[];
    };
    expect(resources.map(({ name, verbs }) => [name, verbs])).toEqual([
      ['logicalclusters', ['get', 'list', 'watch']],
      ['logicalclusters/status', null],
    ]);
  });
});

describe('a terminator of a workspace type', () => {
  const ending = '/services/terminatingworkspaces/root:helped/clusters';

  it('sees the workspaces that are being deleted, and can release them', async () => {
    expect(clustersOf(await as('helper', `${ending}/*${logicalClusters}`))).toEqual([]);
    await server.call('/capstan/workspaces/second/content', { method: 'DELETE' });
    expect(clustersOf(await as('helper', `${ending}/*${logicalClusters}`))).toEqual(['second']);
    const path = `${ending}/second${logicalClusters}/cluster/status`;
    expect((await as('stranger', path, { method: 'PATCH', headers: merge, body: { status: { terminators: [] } } })).code).toBe(403);
    expect((await as('helper', path, { method: 'PATCH', headers: merge, body: { status: { terminators: [] } } })).code).toBe(200);
    expect(clustersOf(await as('helper', `${ending}/*${logicalClusters}`))).toEqual([]);
  });
});

describe('a user who requests ~', () => {
  it('gets a home workspace that nobody else can access', async () => {
    const home = (await as('maker', '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~')).json();
    expect(home).toMatchObject({ kind: 'Workspace', status: { phase: 'Ready' } });
    const { URL: url } = home['spec'] as { URL: string };
    expect((await as('maker', `${new URL(url).pathname}/api/v1/namespaces`)).code).toBe(200);
    expect((await as('maker', `/clusters/user:maker${logicalClusters}/cluster`)).code).toBe(200);
    expect((await as('stranger', `${new URL(url).pathname}/api/v1/namespaces`)).code).toBe(403);
    expect((await as('maker', '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~')).json().metadata.creationTimestamp).toBe(
      home.metadata.creationTimestamp,
    );
    expect((await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~', { anonymous: true })).code).toBe(403);
  });

  it('does not get the path of a workspace in somebody else’s home, whatever the username', async () => {
    const headers = { 'impersonate-user': 'maker:child', 'impersonate-group': 'system:authenticated' };
    const home = (await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~', { headers })).json();
    const { cluster } = home['spec'] as { cluster: string };
    const { metadata } = (await server.call(`/clusters/${cluster}${logicalClusters}/cluster`)).json();
    expect(metadata.annotations?.['kcp.io/path']).toBe(cluster);
  });

  it.each(['system:nodes', 'system:capstan-node-agents', 'system:bootstrappers'])(
    'must not be a machine, of the group %s',
    async (group) => {
      const headers = { 'impersonate-user': 'system:node:a', 'impersonate-group': group };
      const asked = await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~', { headers });
      expect([asked.code, asked.json().message]).toEqual([403, expect.stringContaining('nodes have no home workspace')]);
    },
  );

  it('must not be a service account, since accounts of the same name would share one', async () => {
    const account = { 'impersonate-user': 'system:serviceaccount:default:default' };
    const asked = await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~', { headers: account });
    expect([asked.code, asked.json().message]).toEqual([403, expect.stringContaining('service accounts have no home workspace')]);
  });
});

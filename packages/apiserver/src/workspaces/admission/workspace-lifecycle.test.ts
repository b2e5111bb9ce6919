import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => void (server = await startTestServer()));
afterAll(() => server[Symbol.asyncDispose]());

const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';
const workspaces = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
const merge = { 'content-type': 'application/merge-patch+json' };

/** Creates a workspace with an object that has a finalizer; `owner` is its Workspace. */
async function begin(id: string, { type = 'root:universal', owner }: { type?: string; owner?: object } = {}): Promise<void> {
  const annotations = { 'internal.tenancy.kcp.io/type': type, 'kcp.io/path': `root:${id}` };
  const spec = owner === undefined ? {} : { owner };
  await made(`/clusters/${id}${logicalClusters}`, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations },
    spec,
  });
  await made(mapsOf(id), configMap('held', ['example.com/hold']));
}

async function made(path: string, body: object): Promise<Reply> {
  const reply = await server.call(path, { method: 'POST', body });
  if (reply.code !== 201) throw new Error(reply.text);
  return reply;
}

const mapsOf = (id: string): string => `/clusters/${id}/api/v1/namespaces/default/configmaps`;
const configMap = (name: string, finalizers: string[] = []): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, finalizers },
});
const purge = (id: string): Promise<Reply> => server.call(`/capstan/workspaces/${id}/content`, { method: 'DELETE' });
const create = (id: string, user?: string): Promise<Reply> =>
  server.call(mapsOf(id), {
    method: 'POST',
    body: configMap('late'),
    ...(user !== undefined && { headers: { 'impersonate-user': user, 'impersonate-group': 'system:masters' } }),
  });

describe('a workspace that is being deleted', () => {
  beforeAll(async () => {
    await begin('ending');
    await purge('ending');
  });

  it('rejects new objects with causes that Kubernetes clients know', async () => {
    const reply = await create('ending');
    expect(reply.code).toBe(403);
    expect(reply.json()).toMatchObject({
      reason: 'Forbidden',
      message: 'configmaps "late" is forbidden: unable to create new content in workspace root:ending because it is being terminated',
      details: {
        causes: [
          { reason: 'WorkspaceTerminating', message: 'workspace root:ending is being terminated' },
          { reason: 'NamespaceTerminating', message: 'workspace root:ending is being terminated', field: 'metadata.namespace' },
        ],
      },
    });
  });

  it('rejects them from platform accounts and by apply, too', async () => {
    expect((await create('ending', 'system:serviceaccount:kube-system:service-account-controller')).code).toBe(403);
    const applied = await server.call(`${mapsOf('ending')}/late?fieldManager=test`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: configMap('late'),
    });
    expect(applied.code).toBe(403);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'late' } };
    expect((await server.call('/clusters/ending/api/v1/namespaces', { method: 'POST', body: namespace })).code).toBe(403);
    const line = '{"kind":"CapstanWorkspace","version":1,"cluster":"x","path":"root:x","revision":1}\n';
    expect((await server.call('/capstan/workspaces/ending/content', { method: 'POST', body: line })).code).toBe(403);
  });

  it('answers reviews, which are not stored', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/clusters/ending/apis/authentication.k8s.io/v1/selfsubjectreviews';
    expect((await server.call(path, { method: 'POST', body })).code).toBe(201);
  });

  it('accepts updates, so that finalizers can be removed', async () => {
    const path = `${mapsOf('ending')}/held`;
    expect((await server.call(path, { method: 'PATCH', headers: merge, body: { data: { a: 'b' } } })).code).toBe(200);
    expect((await server.call(path, { method: 'PATCH', headers: merge, body: { metadata: { finalizers: null } } })).code).toBe(200);
    expect((await purge('ending')).json()).toMatchObject({ gone: true });
  });

  it('rejects new objects while it waits for terminators', async () => {
    await made('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes', {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name: 'slow' },
      spec: { terminator: true, extend: { with: [{ name: 'universal', path: 'root' }] } },
    });
    await begin('slowly', { type: 'root:slow' });
    await purge('slowly');
    expect((await create('slowly')).code).toBe(403);
    const view = '/services/terminatingworkspaces/root:slow/clusters/slowly';
    const released = await server.call(`${view}${logicalClusters}/cluster/status`, {
      method: 'PATCH',
      headers: merge,
      body: { status: { terminators: [] } },
    });
    expect(released.code).toBe(200);
  });

  it('rejects new objects as soon as its Workspace is deleted, even if finalizers still hold that', async () => {
    const body = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'kept', finalizers: ['example.com/hold'] },
    };
    const { uid } = (await made(workspaces, body)).json().metadata;
    const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', cluster: 'root', name: 'kept', uid };
    await begin('kept', { owner });
    await begin('namesake', { owner: { ...owner, uid: 'another' } });
    await server.call(`${workspaces}/kept`, { method: 'DELETE' });
    expect((await create('kept')).code).toBe(403);
    expect((await create('namesake')).code).toBe(201);
  });
});

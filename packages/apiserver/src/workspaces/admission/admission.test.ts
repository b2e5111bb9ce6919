import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Call, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
const workspaces = '/apis/tenancy.kcp.io/v1alpha1/workspaces';
const types = '/apis/tenancy.kcp.io/v1alpha1/workspacetypes';
const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';
const merge = { 'content-type': 'application/merge-patch+json' };

beforeAll(async () => {
  server = await startTestServer({ tokens: 'alice-token,alice,1,"team"\nmallory-token,mallory,2' });
  await begin('alices', 'alice');
  await begin('mallorys', 'mallory');
});
afterAll(() => server[Symbol.asyncDispose]());

async function begin(id: string, owner: string, type = 'root:universal'): Promise<void> {
  const annotations = {
    'internal.tenancy.kcp.io/type': type,
    'kcp.io/path': `root:${id}`,
    'experimental.tenancy.kcp.io/owner': JSON.stringify({ username: owner }),
    'authorization.kcp.io/required-groups': 'system:authenticated',
  };
  const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster', annotations } };
  const { code, text } = await server.call(`/clusters/${id}${logicalClusters}`, { method: 'POST', body });
  if (code !== 201) throw new Error(text);
}

const as = (user: string, path: string, call: Call = {}): Promise<Reply> =>
  server.call(path, { anonymous: true, ...call, headers: { ...call.headers, authorization: `Bearer ${user}-token` } });

const workspace = (name: string, spec: object = {}, annotations: Record<string, string> = {}): object => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name, annotations },
  spec,
});
const post = (user: string, cluster: string, body: object): Promise<Reply> =>
  as(user, `/clusters/${cluster}${workspaces}`, { method: 'POST', body });
const message = (reply: Reply): [number, string] => [reply.code, reply.json().message ?? ''];
const annotation = (object: KubeObject, name: string): string | undefined => object.metadata.annotations?.[name];

describe('a user who creates a Workspace', () => {
  it('becomes its owner, and its workspace requires the groups of its parent', async () => {
    const made = (await post('alice', 'alices', workspace('mine'))).json();
    expect(JSON.parse(annotation(made, 'experimental.tenancy.kcp.io/owner')!)).toMatchObject({
      username: 'alice',
      groups: expect.arrayContaining(['team']),
    });
    expect(annotation(made, 'authorization.kcp.io/required-groups')).toBe('system:authenticated');
    expect(made['spec']).toEqual({ type: { name: 'universal', path: 'root' } });
    expect(made.metadata.finalizers).toEqual(['core.kcp.io/logicalcluster']);
  });

  it('cannot choose another workspace, another owner or fewer groups', async () => {
    const made = (
      await post(
        'mallory',
        'mallorys',
        workspace(
          'theft',
          {},
          {
            'internal.tenancy.kcp.io/cluster': 'alices',
            'experimental.tenancy.kcp.io/owner': '{"username":"alice"}',
            'authorization.kcp.io/required-groups': '',
          },
        ),
      )
    ).json();
    expect(annotation(made, 'internal.tenancy.kcp.io/cluster')).not.toBe('alices');
    expect(annotation(made, 'experimental.tenancy.kcp.io/owner')).toContain('mallory');
    expect(annotation(made, 'authorization.kcp.io/required-groups')).toBe('system:authenticated');
    const path = `/clusters/mallorys${workspaces}/theft`;
    const annotations = {
      'experimental.tenancy.kcp.io/owner': '{"groups":["system:masters"]}',
      'authorization.kcp.io/required-groups': null,
    };
    const changed = (await as('mallory', path, { method: 'PATCH', headers: merge, body: { metadata: { annotations } } })).json();
    expect(changed.metadata.annotations).toMatchObject(made.metadata.annotations!);
    expect(message(await post('mallory', 'mallorys', workspace('spec', { cluster: 'alices' })))).toEqual([
      403,
      'workspaces.tenancy.kcp.io "spec" is forbidden: spec.Cluster can only be set by system privileged users',
    ]);
    expect((await post('mallory', 'mallorys', workspace('spec', { URL: 'https://evil.example' }))).code).toBe(403);
  });

  it('cannot change it into another workspace, nor remove its finalizer', async () => {
    const path = `/clusters/mallorys${workspaces}/theft`;
    const patch = (body: object): Promise<Reply> => as('mallory', path, { method: 'PATCH', headers: merge, body });
    expect(message(await patch({ spec: { cluster: 'alices' } }))).toEqual([
      403,
      'workspaces.tenancy.kcp.io "theft" is forbidden: spec.cluster can only be changed by system privileged users',
    ]);
    expect((await patch({ spec: { type: { name: 'project' } } })).code).toBeGreaterThanOrEqual(403);
    const kept = (await patch({ metadata: { finalizers: null, annotations: { 'internal.tenancy.kcp.io/cluster': 'alices' } } })).json();
    expect(kept.metadata.finalizers).toEqual(['core.kcp.io/logicalcluster']);
    expect(annotation(kept, 'internal.tenancy.kcp.io/cluster')).not.toBe('alices');
    expect((await as('mallory', `${path}/status`, { method: 'PATCH', headers: merge, body: { status: { phase: 'Ready' } } })).code).toBe(
      403,
    );
  });

  it('needs a type that exists, that the user may use, and that fits the parent', async () => {
    expect(message(await post('alice', 'alices', workspace('x', { type: { name: 'nothing' } })))).toEqual([
      403,
      'workspaces.tenancy.kcp.io "x" is forbidden: workspace type "nothing" cannot be resolved',
    ]);
    expect(message(await post('alice', 'alices', workspace('x', { type: { name: 'home', path: 'root' } })))).toEqual([
      403,
      'workspaces.tenancy.kcp.io "x" is forbidden: unable to use workspace type root:home: missing verb=\'use\' permission on workspacetype',
    ]);
    expect(message(await post('alice', 'alices', workspace('x', { type: { name: 'organization', path: 'root' } })))).toEqual([
      403,
      'workspaces.tenancy.kcp.io "x" is forbidden: workspace type root:organization only allows [root:root] parent workspaces, but parent type root:universal only implements [root:universal]',
    ]);
  });
});

describe('a WorkspaceType', () => {
  const type = (name: string, spec: object): object => ({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name },
    spec,
  });
  const make = (body: object): Promise<Reply> => as('alice', `/clusters/alices${types}`, { method: 'POST', body });

  it('refers to others by full path', async () => {
    expect(message(await make(type('partial', { limitAllowedChildren: { types: [{ name: 'x' }] } })))[1]).toContain(
      '.spec.limitAllowedChildren.types[0].path must be set',
    );
    expect(message(await make(type('root', {})))[1]).toContain('root workspace type can only be created in root cluster');
  });

  it('that extends itself cannot be used', async () => {
    const [path, name] = ['root:alices', 'circle'];
    // Found by its id, since this workspace has no Workspace object.
    expect((await make(type('one', { extend: { with: [{ name: 'two', path: 'alices' }] } }))).code).toBe(201);
    expect((await make(type('two', { extend: { with: [{ name: 'one', path: 'alices' }] } }))).code).toBe(201);
    const [code, why] = message(await post('alice', 'alices', workspace(name, { type: { name: 'one', path: 'alices' } })));
    expect([code, why]).toEqual([403, expect.stringContaining(`circular dependency detected in workspace type ${path}:one`)]);
  });
});

describe('the LogicalCluster of a workspace', () => {
  const own = `/clusters/alices${logicalClusters}/cluster`;
  const patch = (path: string, body: object): Promise<Reply> => as('alice', path, { method: 'PATCH', headers: merge, body });

  it('cannot be created or deleted by users of the workspace', async () => {
    const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster' } };
    expect((await as('alice', `/clusters/unused${logicalClusters}`, { method: 'POST', body })).code).toBe(403);
    expect(message(await as('alice', own, { method: 'DELETE' }))[1]).toContain('LogicalCluster cannot be deleted');
    expect((await server.call(`/clusters/root${logicalClusters}/cluster`, { method: 'DELETE' })).code).toBe(403);
  });

  it('keeps the annotations and spec that describe the workspace', async () => {
    const kept = [
      'internal.tenancy.kcp.io/type',
      'kcp.io/path',
      'authorization.kcp.io/required-groups',
      'experimental.tenancy.kcp.io/owner',
    ];
    for (const name of kept) expect((await patch(own, { metadata: { annotations: { [name]: 'other' } } })).code).toBe(403);
    expect((await patch(own, { spec: { owner: { apiVersion: 'v1', resource: 'x', name: 'x', cluster: 'x', uid: 'x' } } })).code).toBe(403);
    expect((await patch(own, { spec: { initializers: ['root:xyz'] } })).code).toBe(403);
    expect((await patch(`${own}/status`, { status: { initializers: ['root:xyz'] } })).code).toBe(403);
    expect((await patch(own, { metadata: { finalizers: null } })).json().metadata.finalizers).toEqual([
      'core.kcp.io/logicalcluster-deletion',
    ]);
  });

  it('cannot be deleted through a missing owner, nor be made deletable', async () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: '5f1c6a4e-0000-4000-8000-000000000000' }];
    expect(message(await patch(own, { metadata: { ownerReferences } }))).toEqual([403, expect.stringContaining('ownerReferences')]);
    expect(message(await patch(own, { spec: { directlyDeletable: true } }))).toEqual([403, expect.stringContaining('spec is immutable')]);
  });

  it('keeps its initializers, whatever users of the workspace write', async () => {
    await server.call(`/clusters/root${types}`, {
      method: 'POST',
      body: {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'WorkspaceType',
        metadata: { name: 'checked' },
        spec: { initializer: true, extend: { with: [{ name: 'universal', path: 'root' }] } },
      },
    });
    await begin('unchecked', 'alice', 'root:checked');
    const waiting = `/clusters/unchecked${logicalClusters}/cluster`;
    expect((await as('alice', waiting)).json()['status']).toMatchObject({ phase: 'Initializing', initializers: ['root:checked'] });
    for (const status of [{ initializers: [] }, { initializers: [], phase: 'Ready' }])
      expect((await patch(`${waiting}/status`, { status })).code).toBe(403);
  });
});

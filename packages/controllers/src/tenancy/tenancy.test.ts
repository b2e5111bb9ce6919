import { type Workspace, type WorkspaceType, workspaceKind, workspaceTypeKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configMap, eventually, logicalClusterAt, make, startTenants, type Tenants, untilGone, workspace } from '../suite/tenants.ts';

let tenants: Tenants;
let client: Client;
let controllers: AsyncDisposable;

beforeAll(async () => {
  tenants = await startTenants();
  client = tenants.client;
  controllers = tenants.run();
});
afterAll(async () => {
  await controllers[Symbol.asyncDispose]();
  await tenants[Symbol.asyncDispose]();
});

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const shards = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards', namespaced: false };

function workspaceTypeOf(name: string, spec: object): WorkspaceType {
  return { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name }, spec };
}

describe('a Workspace', () => {
  it('becomes ready, with a shard, a URL and conditions', async () => {
    const found = await make(client, 'root', workspace('ready'));
    expect(found.spec).toMatchObject({ type: { name: 'organization', path: 'root' }, URL: `${tenants.server.url}/clusters/root:ready` });
    expect(found.spec?.cluster).toMatch(/^[a-z0-9]{16}$/);
    expect(found.metadata.annotations).toMatchObject({
      'internal.tenancy.kcp.io/shard': '1pfxsevk',
      'experimental.tenancy.kcp.io/owner': '{"username":"kubernetes-admin"}',
    });
    expect(found.metadata.labels).toMatchObject({ 'tenancy.kcp.io/phase': 'Ready' });
    expect(found.status?.conditions).toMatchObject([
      { type: 'WorkspaceInitialized', status: 'True' },
      { type: 'WorkspaceScheduled', status: 'True' },
    ]);
    const cluster = await logicalClusterAt(client, 'root:ready');
    expect(cluster.spec?.owner).toMatchObject({ cluster: 'root', name: 'ready', uid: found.metadata.uid });
    expect(cluster.metadata.annotations).toMatchObject({ 'kcp.io/path': 'root:ready', 'kcp.io/cluster': found.spec?.cluster });
  });

  it('has the path of its parent before its name', async () => {
    await make(client, 'root', workspace('parent'));
    await make(client, 'root:parent', workspace('child', { type: { name: 'project' } }));
    expect((await logicalClusterAt(client, 'root:parent:child')).metadata.annotations).toMatchObject({
      'kcp.io/path': 'root:parent:child',
      'internal.tenancy.kcp.io/type': 'root:project',
    });
  });

  it('reports that no shard matches, and is scheduled as soon as one does', async () => {
    const location = { selector: { matchLabels: { name: 'later' } } };
    await client.cluster('root').resource<Workspace>(workspaceKind).create(workspace('waiting', { location }));
    const waiting = await eventually(client, 'root', 'waiting', ({ status }) => (status?.conditions ?? []).length > 0);
    expect(waiting.status?.conditions).toMatchObject([{ type: 'WorkspaceScheduled', status: 'False', reason: 'Unschedulable' }]);
    const { spec } = await client.cluster('root').resource(shards).get('root');
    const later = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'Shard', metadata: { name: 'later', labels: { name: 'later' } }, spec };
    await client.cluster('root').resource(shards).create(later);
    await eventually(client, 'root', 'waiting', ({ status }) => status?.phase === 'Ready');
    await client.cluster('root').resource(shards).delete('later');
  });

  it('is rejected where its type is not allowed', async () => {
    await make(client, 'root', workspace('strict'));
    const create = client
      .cluster('root:strict')
      .resource<Workspace>(workspaceKind)
      .create(workspace('no', { type: { name: 'organization' } }));
    await expect(create).rejects.toThrow(
      'workspaces.tenancy.kcp.io "no" is forbidden: workspace type root:organization only allows [root:root] parent workspaces, but parent type root:organization only implements [root:organization root:universal]',
    );
  });
});

describe('initializers and terminators', () => {
  it('keep a workspace from its next phase until they are removed', async () => {
    const types = client.cluster('root').resource<WorkspaceType>(workspaceTypeKind);
    await types.create(
      workspaceTypeOf('slow', { initializer: true, terminator: true, extend: { with: [{ name: 'universal', path: 'root' }] } }),
    );
    await client
      .cluster('root')
      .resource<Workspace>(workspaceKind)
      .create(workspace('slow', { type: { name: 'slow' } }));
    const slow = await eventually(client, 'root', 'slow', ({ status }) => status?.phase === 'Initializing');
    expect(slow.status).toMatchObject({ initializers: ['root:slow'], terminators: ['root:slow'] });
    const status = await logicalClusterAt(client, 'root:slow');
    const logicalClusters = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters', namespaced: false };
    await client
      .cluster('root:slow')
      .resource(logicalClusters)
      .updateStatus({ ...status, status: { ...status.status, initializers: [] } } as never);
    await eventually(client, 'root', 'slow', (found) => found.status?.phase === 'Ready');
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('slow');
    const says = 'Terminators still exist: [root:slow]';
    await eventually(client, 'root', 'slow', (found) => found.status?.conditions?.some(({ message }) => message === says) === true);
    const marked = await logicalClusterAt(client, 'root:slow');
    await client
      .cluster('root:slow')
      .resource(logicalClusters)
      .updateStatus({ ...marked, status: { ...marked.status, terminators: [] } } as never);
    await untilGone(client, 'root', 'slow');
  });

  it('have their URLs in the status of the type', async () => {
    const types = client.cluster('root').resource<WorkspaceType>(workspaceTypeKind);
    await expect
      .poll(async () => (await types.get('universal')).status?.virtualWorkspaces)
      .toEqual([
        { url: `${tenants.server.url}/services/initializingworkspaces/root:universal`, type: 'initializing' },
        { url: `${tenants.server.url}/services/terminatingworkspaces/root:universal`, type: 'terminating' },
      ]);
  });

  it('wait for missing APIs, and report them', async () => {
    const types = client.cluster('root').resource<WorkspaceType>(workspaceTypeKind);
    await types.create(workspaceTypeOf('lacking', { defaultAPIBindings: [{ path: 'root', export: 'not.there' }] }));
    await client
      .cluster('root')
      .resource<Workspace>(workspaceKind)
      .create(workspace('lacking', { type: { name: 'lacking' } }));
    await eventually(client, 'root', 'lacking', ({ status }) => status?.phase === 'Initializing');
    await expect
      .poll(async () => (await logicalClusterAt(client, 'root:lacking')).status?.conditions)
      .toContainEqual(
        expect.objectContaining({
          type: 'APIBindingsInitialized',
          reason: 'APIBindingErrors',
          message: expect.stringContaining('root|not.there'),
        }),
      );
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('lacking');
    await untilGone(client, 'root', 'lacking');
  });
});

describe('deleting a Workspace', () => {
  it('deletes everything below it', async () => {
    await make(client, 'root', workspace('old'));
    await make(client, 'root:old', workspace('a'));
    const b = await make(client, 'root:old:a', workspace('b'));
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('old');
    await untilGone(client, 'root', 'old');
    await expect(logicalClusterAt(client, b.spec!.cluster!)).rejects.toThrow('not found');
  });

  it('reports what it waits for, and continues once that is gone', async () => {
    await make(client, 'root', workspace('held'));
    const maps = client.cluster('root:held').resource(configMaps).in('default');
    await maps.create(configMap('held', { finalizers: ['example.com/hold'] }));
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('held');
    const held = await eventually(client, 'root', 'held', ({ status }) => (status?.conditions ?? []).length === 3);
    expect(held.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'WorkspaceContentDeleted',
        reason: 'SomeResourcesRemain',
        message:
          'Some resources are remaining: configmaps. has 1 resource instances; Some content in the logical cluster has finalizers remaining: example.com/hold in 1 resource instances',
      }),
    );
    await maps.patch('held', { type: 'merge', patch: { metadata: { finalizers: null } } });
    await untilGone(client, 'root', 'held');
  });

  it('deletes one that was never scheduled', async () => {
    const location = { selector: { matchLabels: { name: 'nowhere' } } };
    await client.cluster('root').resource<Workspace>(workspaceKind).create(workspace('never', { location }));
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('never');
    await untilGone(client, 'root', 'never');
  });

  it('lets a new workspace have its name', async () => {
    const first = await make(client, 'root', workspace('again'));
    await client.cluster('root').resource<Workspace>(workspaceKind).delete('again');
    await untilGone(client, 'root', 'again');
    const second = await make(client, 'root', workspace('again'));
    expect(second.spec?.cluster).not.toBe(first.spec?.cluster);
  });
});

describe('controllers that crash at any point', () => {
  it('leave nothing unfinished to their successors', async () => {
    const workspaces = client.cluster('root').resource<Workspace>(workspaceKind);
    for (let round = 0; round < 5; round++) {
      await workspaces.create(workspace(`crash-${round}`));
      if (round > 0) await workspaces.delete(`crash-${round - 1}`);
      await new Promise((resolve) => setTimeout(resolve, round * 7));
      await controllers[Symbol.asyncDispose]();
      controllers = tenants.run();
    }
    await eventually(client, 'root', 'crash-4', ({ status }) => status?.phase === 'Ready');
    for (let round = 0; round < 4; round++) await untilGone(client, 'root', `crash-${round}`);
  });
});

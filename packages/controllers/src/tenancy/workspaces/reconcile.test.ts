import type { LogicalCluster, Shard, Workspace } from '@capstan/api';
import { describe, expect, it, vi } from 'vitest';
import { reconcileWorkspace, type WorkspaceActions } from './reconcile.ts';

const now = new Date('2026-01-01T00:00:00Z');
const shard: Shard = {
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name: 'root', labels: { region: 'here' } },
  spec: { externalURL: 'https://x' },
};
const parent: LogicalCluster = {
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster', annotations: { 'kcp.io/path': 'root:org' } },
};

function workspace(metadata: Partial<Workspace['metadata']> = {}, rest: Partial<Workspace> = {}): Workspace {
  return {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: {
      name: 'w',
      uid: 'u',
      resourceVersion: '7',
      annotations: { 'internal.tenancy.kcp.io/cluster': 'idid' },
      finalizers: ['core.kcp.io/logicalcluster'],
      ...metadata,
    },
    spec: { type: { name: 'universal', path: 'root' } },
    ...rest,
  };
}

function logicalCluster(status: LogicalCluster['status'], metadata: Partial<LogicalCluster['metadata']> = {}): LogicalCluster {
  const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: 'w', cluster: 'parent', uid: 'u' };
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', ...metadata },
    spec: { owner },
    ...(status && { status }),
  };
}

function actions(own: LogicalCluster | undefined, more: Partial<WorkspaceActions> = {}) {
  return {
    cluster: 'parent',
    shards: () => [shard],
    logicalCluster: (id: string) => (id === 'parent' ? parent : own),
    readLogicalCluster: vi.fn(async () => own),
    create: vi.fn<WorkspaceActions['create']>(async () => ({ logicalCluster: logicalCluster({ phase: 'Ready' }), workspaceUpdated: true })),
    purge: vi.fn<WorkspaceActions['purge']>(async () => ({
      gone: true,
      workspaceDeleted: true,
      remains: { resources: {}, finalizers: {} },
    })),
    patch: vi.fn(async () => undefined),
    patchStatus: vi.fn(async () => undefined),
    newId: () => 'other',
    now: () => now,
    ...more,
  };
}

describe('a new Workspace', () => {
  it('is created under the id that was chosen for it, in one request', async () => {
    const acts = actions(undefined);
    expect(await reconcileWorkspace(workspace(), acts)).toEqual({ type: 'done' });
    expect(acts.create).toHaveBeenCalledExactlyOnceWith('idid', {
      url: 'https://x/clusters/root:org:w',
      shard: '1pfxsevk',
      logicalCluster: expect.objectContaining({
        metadata: { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': 'root:universal', 'kcp.io/path': 'root:org:w' } },
        spec: { owner: expect.objectContaining({ cluster: 'parent', name: 'w', uid: 'u' }) },
      }),
    });
    expect(acts.patch).not.toHaveBeenCalled();
    expect(acts.patchStatus).not.toHaveBeenCalled();
  });

  it('is patched if somebody changed it meanwhile', async () => {
    const acts = actions(undefined, {
      create: async () => ({ logicalCluster: logicalCluster({ phase: 'Ready' }), workspaceUpdated: false }),
    });
    await reconcileWorkspace(workspace(), acts);
    expect(acts.patch).toHaveBeenCalledWith(expect.objectContaining({ spec: { cluster: 'idid', URL: 'https://x/clusters/root:org:w' } }));
    expect(acts.patchStatus).toHaveBeenCalledWith({ status: expect.objectContaining({ phase: 'Ready' }) });
  });

  it('gets another id if its own is taken', async () => {
    const acts = actions(undefined, { create: async () => undefined });
    await reconcileWorkspace(workspace(), acts);
    expect(acts.patch).toHaveBeenCalledExactlyOnceWith({ metadata: { annotations: { 'internal.tenancy.kcp.io/cluster': 'other' } } });
  });

  it.each([
    ['there is no shard', {}, []],
    ['no shard has the labels', { location: { selector: { matchLabels: { region: 'there' } } } }, [shard]],
    [
      'no shard accepts workspaces',
      {},
      [{ ...shard, metadata: { ...shard.metadata, annotations: { 'experimental.core.kcp.io/unschedulable': 'true' } } }],
    ],
  ])('stays unscheduled, with a condition, if %s', async (_, spec, shards) => {
    const acts = actions(undefined, { shards: () => shards });
    await reconcileWorkspace(workspace({}, { spec }), acts);
    expect(acts.create).not.toHaveBeenCalled();
    expect(acts.patchStatus).toHaveBeenCalledWith({
      status: { conditions: [expect.objectContaining({ type: 'WorkspaceScheduled', status: 'False', reason: 'Unschedulable' })] },
    });
  });
});

describe('a scheduled Workspace', () => {
  const placed = (status: Workspace['status']): Workspace =>
    workspace(
      {
        labels: { 'tenancy.kcp.io/phase': 'Initializing' },
        annotations: { 'internal.tenancy.kcp.io/cluster': 'idid', 'internal.tenancy.kcp.io/shard': '1pfxsevk' },
      },
      { spec: { cluster: 'idid', URL: 'https://x/clusters/root:org:w' }, ...(status && { status }) },
    );

  it('has the phase of its logical cluster', async () => {
    const acts = actions(logicalCluster({ phase: 'Ready' }));
    await reconcileWorkspace(placed({ phase: 'Initializing', initializers: ['root:x'] }), acts);
    expect(acts.patch).toHaveBeenCalledWith(
      expect.objectContaining({ metadata: expect.objectContaining({ labels: { 'tenancy.kcp.io/phase': 'Ready' } }) }),
    );
    expect(acts.patchStatus).toHaveBeenCalledWith({ status: expect.objectContaining({ phase: 'Ready', initializers: null }) });
  });

  it('reports its logical cluster as gone only if the server says so too', async () => {
    const lagging = actions(undefined, { readLogicalCluster: async () => logicalCluster({ phase: 'Ready' }) });
    await reconcileWorkspace(placed(undefined), lagging);
    expect(lagging.patchStatus).toHaveBeenCalledWith({ status: expect.objectContaining({ phase: 'Ready' }) });
    const gone = actions(undefined);
    await reconcileWorkspace(placed(undefined), gone);
    expect(gone.patchStatus).toHaveBeenCalledWith({ status: expect.objectContaining({ phase: 'Unavailable' }) });
  });
});

describe('a Workspace that is being deleted', () => {
  const leaving = (metadata: Partial<Workspace['metadata']> = {}): Workspace =>
    workspace({ deletionTimestamp: '2026-01-01T00:00:00Z', ...metadata });

  it('is emptied and released in one request', async () => {
    const acts = actions(logicalCluster({ phase: 'Ready' }));
    expect(await reconcileWorkspace(leaving(), acts)).toEqual({ type: 'done' });
    expect(acts.purge).toHaveBeenCalledExactlyOnceWith('idid');
    expect(acts.patch).not.toHaveBeenCalled();
  });

  it('waits for the finalizers of others first', async () => {
    const acts = actions(logicalCluster({ phase: 'Ready' }));
    await reconcileWorkspace(leaving({ finalizers: ['core.kcp.io/logicalcluster', 'example.com/mine'] }), acts);
    expect(acts.purge).not.toHaveBeenCalled();
  });

  it('reports what remains, and is reconciled again', async () => {
    const remains = { resources: { 'configmaps.': 2 }, finalizers: { 'a/b': 2 } };
    const acts = actions(logicalCluster({ phase: 'Ready' }), { purge: async () => ({ gone: false, workspaceDeleted: false, remains }) });
    expect(await reconcileWorkspace(leaving(), acts)).toMatchObject({ type: 'requeueAfter' });
    expect(acts.patchStatus).toHaveBeenCalledWith({
      status: {
        conditions: [
          expect.objectContaining({ reason: 'SomeResourcesRemain', message: expect.stringContaining('a/b in 2 resource instances') }),
        ],
      },
    });
  });

  it('does not empty another workspace with its id', async () => {
    const stranger = {
      ...logicalCluster({ phase: 'Ready' }),
      spec: { owner: { apiVersion: '', resource: '', name: '', cluster: '', uid: 'another' } },
    };
    const acts = actions(stranger);
    await reconcileWorkspace(leaving(), acts);
    expect(acts.purge).not.toHaveBeenCalled();
    expect(acts.patch).toHaveBeenCalledExactlyOnceWith({ metadata: { finalizers: null, resourceVersion: '7' } });
  });
});

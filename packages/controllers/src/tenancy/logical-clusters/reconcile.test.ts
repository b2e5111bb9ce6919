import type { LogicalCluster } from '@capstan/api';
import { describe, expect, it, vi } from 'vitest';
import { type LogicalClusterActions, reconcileLogicalCluster } from './reconcile.ts';

const now = new Date('2026-01-01T00:00:00Z');

function logicalCluster(status: NonNullable<LogicalCluster['status']>, metadata: Partial<LogicalCluster['metadata']> = {}): LogicalCluster {
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: {
      name: 'cluster',
      labels: { 'tenancy.kcp.io/phase': status.phase! },
      finalizers: ['core.kcp.io/logicalcluster-deletion'],
      ...metadata,
    },
    status,
  };
}

function actions(more: Partial<Pick<LogicalClusterActions, 'bind'>> = {}) {
  return {
    address: () => 'https://here:6443',
    bind: vi.fn<LogicalClusterActions['bind']>(async () => ({ incomplete: [], missing: [] })),
    purge: vi.fn<LogicalClusterActions['purge']>(async () => ({
      gone: true,
      workspaceDeleted: false,
      remains: { resources: {}, finalizers: {} },
    })),
    update: vi.fn(async (changed: LogicalCluster) => changed),
    updateStatus: vi.fn(async (changed: LogicalCluster) => changed),
    now: () => now,
    ...more,
  };
}

describe('the URL of a workspace', () => {
  it('follows its shard to another address', async () => {
    const acts = actions();
    await reconcileLogicalCluster(logicalCluster({ phase: 'Ready', URL: 'https://gone:6443/clusters/abc' }), acts);
    const [[moved]] = acts.updateStatus.mock.calls as [[LogicalCluster]];
    expect(moved.status?.URL).toBe('https://here:6443/clusters/abc');
  });

  it('is not written if it is right', async () => {
    const acts = actions();
    await reconcileLogicalCluster(logicalCluster({ phase: 'Ready', URL: 'https://here:6443/clusters/abc' }), acts);
    expect(acts.updateStatus).not.toHaveBeenCalled();
  });
});

describe('a new workspace', () => {
  it('becomes ready once it has no initializers', async () => {
    const acts = actions();
    await reconcileLogicalCluster(logicalCluster({ phase: 'Initializing' }), acts);
    expect(acts.updateStatus).toHaveBeenLastCalledWith(expect.objectContaining({ status: expect.objectContaining({ phase: 'Ready' }) }));
  });

  it('waits for its initializers, with labels for them', async () => {
    const acts = actions();
    await reconcileLogicalCluster(logicalCluster({ phase: 'Initializing', initializers: ['root:slow'] }), acts);
    const [[labelled]] = acts.update.mock.calls as [[LogicalCluster]];
    expect(Object.keys(labelled.metadata.labels!).some((key) => key.startsWith('initializer.internal.kcp.io/'))).toBe(true);
    const conditions = acts.updateStatus.mock.calls.at(-1)![0].status?.conditions;
    expect(conditions).toMatchObject([{ type: 'WorkspaceInitialized', status: 'False', message: 'Initializers still exist: [root:slow]' }]);
  });

  it('gets the bindings of its type before that', async () => {
    const waiting = actions({ bind: async () => ({ incomplete: ['a-1'], missing: [] }) });
    const fresh = logicalCluster({ phase: 'Initializing', initializers: ['system:apibindings'] });
    expect(await reconcileLogicalCluster(fresh, waiting)).toMatchObject({ type: 'requeueAfter' });
    expect(waiting.updateStatus.mock.calls.at(-1)![0].status?.conditions).toMatchObject([
      { type: 'APIBindingsInitialized', reason: 'WaitingOnAPIBindings', message: 'APIBinding(s) not yet fully bound: a-1' },
    ]);
    const bound = actions();
    await reconcileLogicalCluster(fresh, bound);
    expect(bound.updateStatus.mock.calls.at(-1)![0].status).toMatchObject({ phase: 'Ready', initializers: [] });
  });

  it('needs no requests once it is ready', async () => {
    const acts = actions();
    await reconcileLogicalCluster(logicalCluster({ phase: 'Ready' }), acts);
    for (const act of [acts.bind, acts.purge, acts.update, acts.updateStatus]) expect(act).not.toHaveBeenCalled();
  });
});

describe('a workspace that is being deleted', () => {
  const leaving = (
    status: Partial<NonNullable<LogicalCluster['status']>> = {},
    finalizers = ['core.kcp.io/logicalcluster-deletion'],
  ): LogicalCluster =>
    logicalCluster(
      { phase: 'Ready', ...status },
      { deletionTimestamp: '2026-01-01T00:00:00Z', labels: { 'tenancy.kcp.io/phase': 'Deleting' }, finalizers },
    );

  it('is emptied', async () => {
    const acts = actions();
    expect(await reconcileLogicalCluster(leaving(), acts)).toEqual({ type: 'done' });
    expect(acts.purge).toHaveBeenCalledOnce();
  });

  it('waits for its terminators, and reports them', async () => {
    const acts = actions();
    await reconcileLogicalCluster(leaving({ terminators: ['root:slow'] }), acts);
    expect(acts.purge).not.toHaveBeenCalled();
    expect(acts.update.mock.calls[0]![0].metadata.finalizers).toContain('kcp.io/has-terminators');
    expect(acts.updateStatus.mock.calls[0]![0].status?.conditions).toMatchObject([
      { reason: 'TerminatorExists', message: 'Terminators still exist: [root:slow]' },
    ]);
  });

  it('is left alone if only others have finalizers on it', async () => {
    const acts = actions();
    await reconcileLogicalCluster(leaving({}, ['example.com/hold']), acts);
    expect(acts.purge).not.toHaveBeenCalled();
  });
});

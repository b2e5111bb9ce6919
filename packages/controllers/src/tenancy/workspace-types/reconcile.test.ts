import type { Shard, WorkspaceType } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { withAddresses } from './reconcile.ts';

const type: WorkspaceType = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name: 'team' } };
const shard = (name: string, virtualWorkspaceURL?: string): Shard => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'Shard',
  metadata: { name },
  spec: { ...(virtualWorkspaceURL !== undefined && { virtualWorkspaceURL }) },
});
const context = { cluster: 'root', shards: [shard('root', 'https://one')], now: new Date('2026-01-01T00:00:00Z') };

describe('withAddresses', () => {
  test('adds two addresses for each shard that has one, and the conditions', () => {
    const shards = [...context.shards, shard('two', 'https://two'), shard('three')];
    const changed = withAddresses(type, { ...context, shards });
    expect(changed?.status?.virtualWorkspaces).toEqual([
      { url: 'https://one/services/initializingworkspaces/root:team', type: 'initializing' },
      { url: 'https://one/services/terminatingworkspaces/root:team', type: 'terminating' },
      { url: 'https://two/services/initializingworkspaces/root:team', type: 'initializing' },
      { url: 'https://two/services/terminatingworkspaces/root:team', type: 'terminating' },
    ]);
    expect(changed?.status?.conditions?.map(({ type: name, status }) => `${name}=${status}`)).toEqual([
      'Ready=True',
      'VirtualWorkspaceURLsReady=True',
    ]);
  });

  test('returns undefined if nothing would change', () => {
    expect(withAddresses(withAddresses(type, context)!, { ...context, now: new Date() })).toBeUndefined();
  });
});

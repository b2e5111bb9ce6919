import type { ApiBinding, ApiExport, LogicalCluster, WorkspaceType } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { reconcileDefaultBindings } from './reconcile.ts';

const now = new Date('2026-01-01T00:00:00Z');
const exported: ApiExport = { apiVersion: '', kind: 'APIExport', metadata: { name: 'cowboys' } };
const type: WorkspaceType = {
  apiVersion: '',
  kind: 'WorkspaceType',
  metadata: { name: 'team', annotations: { 'kcp.io/cluster': 'root' } },
  spec: { defaultAPIBindingLifecycle: 'Maintain', defaultAPIBindings: [{ path: 'root', export: 'cowboys' }] },
};
const workspace = (name: string, status: LogicalCluster['status'] & object): LogicalCluster => ({
  apiVersion: '',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster', annotations: { 'kcp.io/cluster': 'abc', 'internal.tenancy.kcp.io/type': `root:${name}` } },
  status,
});
const binding = (status: 'True' | 'False'): ApiBinding => ({
  apiVersion: '',
  kind: 'APIBinding',
  metadata: { name: 'b' },
  status: { conditions: [{ type: 'InitialBindingCompleted', status, lastTransitionTime: '' }] },
});

async function run(
  given: LogicalCluster,
  known: { exported?: ApiExport; bound?: ApiBinding },
): Promise<{ created: unknown[]; message: string | undefined }> {
  const created: unknown[] = [];
  let written: LogicalCluster | undefined;
  await reconcileDefaultBindings(given, {
    findType: (path, name) => (`${path}:${name}` === 'root:team' ? type : undefined),
    exportAt: () => known.exported,
    bindingTo: () => known.bound,
    create: async ({ spec }) => created.push(spec?.reference?.export),
    updateStatus: async (changed) => (written = changed),
    now: () => now,
  });
  const condition = written?.status?.conditions?.find((one) => one.type === 'APIBindingsReconciled');
  return { created, message: condition && (condition.message ?? condition.status) };
}

describe('reconcileDefaultBindings', () => {
  const ready = workspace('team', { phase: 'Ready' });
  test.each([
    {
      name: 'creates a missing binding',
      given: ready,
      known: { exported },
      count: 1,
      message: 'APIBinding(s) not yet fully reconciled: for APIExport root|cowboys',
    },
    {
      name: 'waits for a missing export',
      given: ready,
      known: {},
      count: 0,
      message: 'APIBinding(s) not yet fully reconciled: for APIExport root|cowboys',
    },
    {
      name: 'waits for an incomplete binding',
      given: ready,
      known: { exported, bound: binding('False') },
      count: 0,
      message: 'APIBinding(s) not yet fully reconciled: b',
    },
    {
      name: 'reports that all bindings are complete',
      given: ready,
      known: { exported, bound: binding('True') },
      count: 0,
      message: 'True',
    },
    {
      name: 'leaves a workspace alone that is not ready',
      given: workspace('team', { phase: 'Initializing' }),
      known: { exported },
      count: 0,
      message: undefined,
    },
    {
      name: 'leaves a workspace alone whose type maintains nothing',
      given: workspace('other', { phase: 'Ready' }),
      known: { exported },
      count: 0,
      message: undefined,
    },
  ])('$name', async ({ given, known, count, message }) => {
    const outcome = await run(given, known);
    expect(outcome.created).toEqual(Array.from({ length: count }, () => ({ path: 'root', name: 'cowboys' })));
    expect(outcome.message).toBe(message);
  });

  test('writes nothing if the condition is up to date', async () => {
    const conditions = [{ type: 'APIBindingsReconciled', status: 'True', lastTransitionTime: '' }] as const;
    expect(await run(workspace('team', { phase: 'Ready', conditions }), { exported, bound: binding('True') })).toEqual({
      created: [],
      message: undefined,
    });
  });
});

import type { ApiBinding, ApiExport, WorkspaceType } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { reconcileClaims } from './reconcile.ts';

const claim = { group: '', resource: 'configmaps', verbs: ['get'] };
const exported: ApiExport = { apiVersion: '', kind: 'APIExport', metadata: { name: 'cowboys' }, spec: { permissionClaims: [claim] } };
const binding = (spec: ApiBinding['spec'] = {}, metadata: Partial<ApiBinding['metadata']> = {}): ApiBinding => ({
  apiVersion: '',
  kind: 'APIBinding',
  metadata: { name: 'b', ...metadata },
  spec: { reference: { export: { path: 'root:provider', name: 'cowboys' } }, ...spec },
});
const accepted = { ...claim, selector: { matchAll: true }, state: 'Accepted' } as const;
const type = (lifecycle: 'Maintain' | 'InitializeOnly'): WorkspaceType => ({
  apiVersion: '',
  kind: 'WorkspaceType',
  metadata: { name: 'team', annotations: { 'kcp.io/cluster': 'root' } },
  spec: { defaultAPIBindingLifecycle: lifecycle, defaultAPIBindings: [{ path: 'root:provider', export: 'cowboys' }] },
});

describe('reconcileClaims', () => {
  test.each([
    {
      name: 'accepts the claims of an export that the type maintains',
      given: binding(),
      known: type('Maintain'),
      workspaceType: 'root:team',
      isWritten: true,
    },
    {
      name: 'leaves a binding alone that has them',
      given: binding({ permissionClaims: [accepted] }),
      known: type('Maintain'),
      workspaceType: 'root:team',
      isWritten: false,
    },
    {
      name: 'leaves a binding alone that the type only initializes',
      given: binding(),
      known: type('InitializeOnly'),
      workspaceType: 'root:team',
      isWritten: false,
    },
    {
      name: 'leaves a binding alone in a workspace of another type',
      given: binding(),
      known: type('Maintain'),
      workspaceType: 'root:other',
      isWritten: false,
    },
    {
      name: 'leaves a binding alone whose workspace is gone',
      given: binding(),
      known: type('Maintain'),
      workspaceType: undefined,
      isWritten: false,
    },
    {
      name: 'leaves a binding alone that is being deleted',
      given: binding({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      known: type('Maintain'),
      workspaceType: 'root:team',
      isWritten: false,
    },
  ])('$name', async ({ given, known, workspaceType, isWritten }) => {
    let written: ApiBinding | undefined;
    await reconcileClaims(given, {
      types: { list: () => [known], find: (path, name) => (`${path}:${name}` === 'root:team' ? known : undefined) },
      exportAt: ({ path, name }) => (path === 'root:provider' && name === 'cowboys' ? exported : undefined),
      workspaceType: async () => workspaceType,
      update: async (changed) => (written = changed),
    });
    expect(written?.spec?.permissionClaims).toEqual(isWritten ? [accepted] : undefined);
  });
});

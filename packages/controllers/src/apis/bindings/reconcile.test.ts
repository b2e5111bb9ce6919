import type { ApiBinding, ApiExport, ApiResourceSchema } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { binding, cowboyExport, cowboySchema } from '../testing.ts';
import type { Taken } from './conflicts.ts';
import { type BindingActions, reconcileBinding } from './reconcile.ts';

const offered: ApiExport = { ...cowboyExport('cowboys', 'today'), status: { identityHash: 'abc' } };
const schema = (names: object = {}): ApiResourceSchema => {
  const made = cowboySchema('today', names);
  return { ...made, metadata: { ...made.metadata, uid: 'uid-1' } };
};
const other: ApiBinding = binding('sheriffs', 'root:law');
const taken = (names: object, by: Taken['by'] = { binding: other }): Taken => ({
  group: 'wildwest.dev',
  names: { plural: 'sheriffs', singular: 'sheriff', kind: 'Sheriff', listKind: 'SheriffList', ...names },
  by,
});

const pods: ApiResourceSchema = {
  ...schema(),
  spec: {
    ...schema().spec!,
    group: '',
    names: { plural: 'pods', kind: 'Pod' },
    versions: [{ name: 'v1', served: true, storage: true, schema: {} }],
  },
};

async function look(given: Partial<BindingActions> = {}, object: ApiBinding = binding('cowboys', 'provider')) {
  const kept: string[] = [];
  const outcome = await reconcileBinding(object, {
    getExport: async () => ({ cluster: 'provider', object: offered }),
    getSchema: async () => schema(),
    taken: async () => [],
    isServed: async () => false,
    keepSchema: async ({ metadata }) => void kept.push(metadata.uid!) as undefined,
    readiness: () => ({ type: 'ready' }),
    now: () => new Date('2026-01-01T00:00:00Z'),
    ...given,
  });
  const conditions = Object.fromEntries((outcome.status.conditions ?? []).map((one) => [one.type, one]));
  return { ...outcome, kept, conditions };
}

describe('a binding', () => {
  test('is bound once every schema has a copy', async () => {
    const { status, conditions, kept } = await look();
    expect(kept).toEqual(['uid-1']);
    expect(status).toMatchObject({
      phase: 'Bound',
      apiExportClusterName: 'provider',
      boundResources: [
        {
          group: 'wildwest.dev',
          resource: 'cowboys',
          schema: { name: 'today.cowboys.wildwest.dev', UID: 'uid-1', identityHash: 'abc' },
          storageVersions: ['v1alpha1'],
        },
      ],
    });
    for (const type of ['Ready', 'APIExportValid', 'BindingUpToDate', 'InitialBindingCompleted', 'PermissionClaimsValid'])
      expect(conditions[type]).toMatchObject({ status: 'True' });
  });

  test('keeps the identity that it was bound to, and reports another one', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look()).status };
    const renewed: ApiExport = { ...offered, spec: { ...offered.spec!, permissionClaims: [{ resource: 'secrets', verbs: ['*'] }] } };
    const other = { ...renewed, status: { identityHash: 'def' } };
    const { status, conditions, kept } = await look({ getExport: async () => ({ cluster: 'provider', object: other }) }, bound);
    expect(kept).toEqual([]);
    expect(status.boundResources).toEqual(bound.status.boundResources);
    expect(status.exportPermissionClaims).toEqual([]);
    for (const type of ['APIExportValid', 'BindingUpToDate'])
      expect(conditions[type]).toMatchObject({
        status: 'False',
        reason: 'IdentityMismatch',
        message:
          'APIExport provider|cowboys has the identity def, and this APIBinding is bound to abc: it is another one of the same name. ' +
          'Delete this APIBinding, and all that it brought, to bind the new one',
      });
    expect(conditions['Ready']).toMatchObject({ status: 'True' });
    const again = await look({}, { ...bound, status });
    expect(again.conditions['APIExportValid']).toMatchObject({ status: 'True' });
    expect(again.status.boundResources).toEqual(bound.status.boundResources);
  });

  test('does not change if it is reconciled again', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look()).status };
    expect((await look({}, bound)).status).toEqual(bound.status);
  });

  test.each<[string, Partial<BindingActions>, string, string]>([
    ['there is no export', { getExport: async () => undefined }, 'APIExportValid', 'APIExport provider|cowboys not found'],
    [
      'the export has no identity yet',
      { getExport: async () => ({ cluster: 'provider', object: cowboyExport('cowboys', 'today') }) },
      'APIExportValid',
      'APIExport provider|cowboys is missing status.identityHash',
    ],
    [
      'a schema is missing',
      { getSchema: async () => undefined },
      'APIExportValid',
      'Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "today.cowboys.wildwest.dev" not found',
    ],
    [
      'a schema is rejected',
      { keepSchema: async () => 'spec.versions: Required value' },
      'BindingUpToDate',
      'APIResourceSchema provider|today.cowboys.wildwest.dev is invalid: spec.versions: Required value',
    ],
    [
      'another binding has the resource',
      { taken: async () => [taken({ plural: 'cowboys' })] },
      'InitialBindingCompleted',
      'Unable to bind APIs because they are bound by other APIBindings or CRDs: map[cowboys.wildwest.dev:{sheriffs false}]',
    ],
    [
      'another binding has the short name',
      { getSchema: async () => schema({ shortNames: ['cb'] }), taken: async () => [taken({ shortNames: ['cb'] })] },
      'BindingUpToDate',
      'Unable to bind APIs: naming conflict with APIBinding "sheriffs" bound to APIExport root:law:sheriffs: spec.names.shortNames=[cb] is forbidden',
    ],
    [
      'a definition has the kind',
      { taken: async () => [taken({ kind: 'Cowboy' }, { definition: 'sheriffs.wildwest.dev' })] },
      'BindingUpToDate',
      'Unable to bind APIs: naming conflict with CustomResourceDefinition "sheriffs.wildwest.dev": spec.names.kind=Cowboy is forbidden',
    ],
    [
      'the workspace serves a kind of Kubernetes of the same name',
      { getSchema: async () => pods, isServed: async (apiVersion: string, kind: string) => `${apiVersion} ${kind}` === 'v1 Pod' },
      'InitialBindingCompleted',
      'Unable to bind APIs because they are bound by other APIBindings or CRDs: map[pods.:{kubernetes false}]',
    ],
  ])('reports that %s', async (_, given, type, message) => {
    const { status, conditions } = await look(given);
    expect(conditions[type]).toMatchObject({ status: 'False', message });
    expect([status.phase, conditions['Ready']!.status]).toEqual(['Binding', 'False']);
  });

  test('stays bound if a conflict appears later', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look()).status };
    const moved = { ...schema(), metadata: { name: 'tomorrow.cowboys.wildwest.dev', uid: 'uid-2' } };
    const { status, conditions } = await look({ getSchema: async () => moved, taken: async () => [taken({ kind: 'Cowboy' })] }, bound);
    expect(status).toMatchObject({ phase: 'Bound', boundResources: bound.status.boundResources });
    expect([conditions['Ready']!.status, conditions['BindingUpToDate']!.status]).toEqual(['True', 'False']);
  });

  test('of a kind of Kubernetes that it brought itself is no conflict', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look({ getSchema: async () => pods })).status };
    const moved = { ...pods, metadata: { ...pods.metadata, uid: 'uid-2' } };
    const { conditions } = await look({ getSchema: async () => moved, isServed: async () => true }, bound);
    expect(conditions['BindingUpToDate']).toMatchObject({ status: 'True' });
  });

  test('keeps resources that the export no longer offers', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look()).status };
    const emptied = { ...offered, spec: { resources: [] } };
    const { status } = await look({ getExport: async () => ({ cluster: 'provider', object: emptied }) }, bound);
    expect(status.boundResources).toEqual(bound.status.boundResources);
  });

  test('remembers every version that objects were stored in', async () => {
    const bound = { ...binding('cowboys', 'provider'), status: (await look()).status };
    const next = schema();
    next.metadata.uid = 'uid-2';
    next.spec = { ...next.spec!, versions: [{ name: 'v1', served: true, storage: true, schema: {} }] };
    const { status } = await look({ getSchema: async () => next }, bound);
    expect(status.boundResources![0]!.storageVersions).toEqual(['v1', 'v1alpha1']);
  });
});

describe('a resource with virtual storage', () => {
  const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'cowboys' };
  const resource = { ...offered.spec!.resources![0]!, storage: { virtual: { reference, identityHash: 'def' } } };
  const offeredVirtually = async () => ({ cluster: 'provider', object: { ...offered, spec: { resources: [resource] } } });
  const broken = { readiness: () => ({ type: 'broken', why: 'CachedResource provider|cowboys not found' }) as const };

  test('is bound without being stored', async () => {
    const { status } = await look({ getExport: offeredVirtually });
    expect(status.boundResources).toEqual([
      { group: 'wildwest.dev', resource: 'cowboys', schema: { name: 'today.cowboys.wildwest.dev', UID: 'uid-1', identityHash: 'abc' } },
    ]);
  });

  test('is bound once it can be read, and reports what it waits for', async () => {
    const waiting = { readiness: () => ({ type: 'waiting', why: 'Waiting for an endpoint' }) as const };
    const { status, conditions, isWaiting } = await look({ getExport: offeredVirtually, ...waiting });
    expect([status.phase, status.boundResources, isWaiting]).toEqual(['Binding', [], true]);
    expect(conditions).toMatchObject({
      APIExportValid: { status: 'True' },
      InitialBindingCompleted: { status: 'False', reason: 'WaitingForEstablished', message: 'Waiting for an endpoint' },
    });
  });

  test.each([
    ['is not bound while it cannot be read', undefined],
    ['stays bound if it can no longer be read', 'Bound'],
  ])('%s, and reports why', async (_, phase) => {
    const before = {
      ...binding('cowboys', 'provider'),
      ...(phase !== undefined && { status: (await look({ getExport: offeredVirtually })).status }),
    };
    const { status, conditions } = await look({ getExport: offeredVirtually, ...broken }, before);
    expect(status.boundResources).toHaveLength(phase === undefined ? 0 : 1);
    expect(conditions['APIExportValid']).toMatchObject({
      status: 'False',
      reason: 'VirtualResourceNotReady',
      message:
        'Invalid APIExport. Please contact the APIExport owner to resolve: cowboys.wildwest.dev: CachedResource provider|cowboys not found',
    });
  });

  test('does not replace stored objects', async () => {
    const stored = { ...binding('cowboys', 'provider'), status: (await look()).status };
    const { status, conditions } = await look({ getExport: offeredVirtually }, stored);
    expect(status.boundResources).toEqual(stored.status.boundResources);
    expect(conditions['APIExportValid']?.message).toContain('cowboys.wildwest.dev is stored where it was bound before');
  });
});

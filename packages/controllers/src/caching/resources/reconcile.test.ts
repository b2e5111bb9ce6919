import { createHash } from 'node:crypto';
import type { CachedResource, CachedResourceEndpointSlice } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { type CachedResourceActions, reconcileCachedResource } from './reconcile.ts';

const key = Buffer.from('a key').toString('base64');
const hash = createHash('sha256').update('a key').digest('hex');
const verbs = ['create', 'get', 'list'];
const object: CachedResource = {
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResource',
  metadata: { name: 'flavors', uid: 'uid-1', annotations: { 'kcp.io/path': 'root:provider' } },
  spec: { group: 'cloud.example.com', version: 'v1', resource: 'flavors', identity: { secretRef: { namespace: 'x', name: 'mine' } } },
};

async function look(given: Partial<CachedResourceActions> = {}, looked: CachedResource = object) {
  const written: CachedResource[] = [];
  const updated: CachedResource[] = [];
  const slices: CachedResourceEndpointSlice[] = [];
  const result = await reconcileCachedResource(looked, {
    getSecret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { key } }),
    createSecret: async () => {},
    getKind: async () => ({ namespaced: false, verbs }),
    hasSlice: () => false,
    createSlice: async (slice) => void slices.push(slice),
    update: async (one) => void updated.push(one),
    updateStatus: async (one) => void written.push(one),
    now: () => new Date('2026-01-01T00:00:00Z'),
    ...given,
  });
  return { result, status: written.at(-1)?.status, updated, slices };
}

describe('a CachedResource', () => {
  test('is ready at once, since nothing has to be copied', async () => {
    const { status, result } = await look();
    expect(result).toEqual({ type: 'done' });
    expect(status).toMatchObject({ identityHash: hash, phase: 'Ready' });
    expect(status?.conditions?.map(({ type, status: is }) => [type, is])).toEqual([
      ['IdentityValid', 'True'],
      ['ReplicationStarted', 'True'],
      ['ResourceValid', 'True'],
    ]);
    expect((await look({}, { ...object, status: status! })).status).toBeUndefined();
  });

  test('gets an identity if nobody chose one', async () => {
    const made: string[] = [];
    const { spec, ...rest } = object;
    const { updated, status } = await look(
      { createSecret: async ({ metadata }) => void made.push(`${metadata.namespace}/${metadata.name}`) },
      { ...rest, spec: { ...spec!, identity: {} } },
    );
    expect([made, status]).toEqual([['kcp-system/flavors'], undefined]);
    expect(updated[0]?.spec?.identity).toEqual({ secretRef: { namespace: 'kcp-system', name: 'flavors' } });
  });

  test('gets an endpoint slice that is deleted with it, unless it asks for none', async () => {
    expect((await look()).slices).toMatchObject([
      {
        metadata: { name: 'flavors', ownerReferences: [{ kind: 'CachedResource', name: 'flavors', uid: 'uid-1' }] },
        spec: { cachedResource: { name: 'flavors' } },
      },
    ]);
    const annotations = { 'cachedresources.cache.kcp.io/skip-endpointslice': '' };
    expect((await look({}, { ...object, metadata: { ...object.metadata, annotations } })).slices).toEqual([]);
    expect((await look({ hasSlice: () => true })).slices).toEqual([]);
  });

  test.each<[string, Partial<CachedResourceActions>, string, object]>([
    [
      'its kind is not served',
      { getKind: async () => undefined },
      'ResourceValid',
      { reason: 'NoResources', message: 'Resource flavors.cloud.example.com is not served in this workspace in version "v1"' },
    ],
    [
      'its kind is namespaced',
      { getKind: async () => ({ namespaced: true, verbs }) },
      'ResourceValid',
      { reason: 'ResourceNotClusterScoped', message: 'Resource flavors.cloud.example.com is not cluster-scoped' },
    ],
    [
      'its kind is itself read from elsewhere',
      { getKind: async () => ({ namespaced: false, verbs: ['get', 'list', 'watch'] }) },
      'ResourceValid',
      { message: 'Resource flavors.cloud.example.com is not stored in this workspace' },
    ],
    [
      'its key is gone',
      { getSecret: async () => undefined },
      'IdentityValid',
      { reason: 'IdentityVerificationFailed', message: 'secret "mine" not found' },
    ],
  ])('is not ready if %s', async (_, given, type, expected) => {
    const ready = { ...object, status: (await look()).status! };
    const { status, result } = await look(given, ready);
    expect([result.type, status?.phase]).toEqual(['requeueAfter', 'Initializing']);
    for (const one of [type, 'ReplicationStarted'])
      expect(status?.conditions?.find((condition) => condition.type === one)).toMatchObject({ status: 'False', ...expected });
  });

  test('does not accept another key', async () => {
    const { status } = await look({}, { ...object, status: { identityHash: 'other' } });
    expect(status).toMatchObject({ identityHash: 'other' });
    expect(status?.conditions?.find(({ type }) => type === 'IdentityValid')?.message).toBe(
      `hash mismatch: identity secret hash "${hash}" must match status.identityHash "other"`,
    );
  });

  test('is left alone while it is being deleted', async () => {
    const { metadata } = object;
    const { status, updated, slices } = await look({}, { ...object, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect([status, updated, slices]).toEqual([undefined, [], []]);
  });
});

import type { DiscoveredResource } from '@capstan/client';
import { done, requeueAfter } from '@capstan/controller';
import { expect, test } from 'vitest';
import { deletableTypes, remainsOf } from './content.ts';
import type { Namespace } from './namespace.ts';
import { type NamespaceActions, reconcileNamespace } from './reconcile.ts';

const type = (resource: string, given: Partial<DiscoveredResource> = {}): DiscoveredResource => ({
  group: '',
  version: 'v1',
  resource,
  namespaced: true,
  kind: resource,
  verbs: ['delete', 'deletecollection', 'list'],
  shortNames: [],
  subresources: [],
  ...given,
});

const leaving: Namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z' },
  spec: { finalizers: ['example.com/keep', 'kubernetes'] },
  status: { phase: 'Terminating' },
};

/** Records the actions on the namespace. */
function recording(given: Partial<NamespaceActions> = {}) {
  const log: string[] = [];
  let written: Namespace | undefined;
  const actions: NamespaceActions = {
    discover: async () => [type('configmaps'), type('pods'), type('secrets')],
    empty: async ({ resource }) => void log.push(`empty ${resource}`) as undefined,
    writeStatus: async (namespace) => {
      log.push('write status');
      return (written = namespace);
    },
    finalize: async ({ spec }) => void log.push(`finalize, keeping ${spec?.finalizers?.join()}`),
    now: () => new Date('2026-01-01T00:00:02Z'),
    ...given,
  };
  const condition = (name: string) => written?.status?.conditions?.find((one) => one.type === name);
  return { actions, log, condition };
}

test('leaves a namespace alone that is not being deleted', async () => {
  const { actions, log } = recording();
  const { deletionTimestamp: _, ...metadata } = leaving.metadata;
  expect(await reconcileNamespace({ ...leaving, metadata }, actions)).toEqual(done);
  expect(await reconcileNamespace(undefined, actions)).toEqual(done);
  expect(await reconcileNamespace({ ...leaving, spec: { finalizers: ['example.com/keep'] } }, actions)).toEqual(done);
  expect(log).toEqual([]);
});

test('deletes pods, then everything else, then the finalizer', async () => {
  const { actions, log, condition } = recording();
  expect(await reconcileNamespace(leaving, actions)).toEqual(done);
  expect(log).toEqual(['empty pods', 'empty configmaps', 'empty secrets', 'write status', 'finalize, keeping example.com/keep']);
  expect(condition('NamespaceContentRemaining')).toEqual({
    type: 'NamespaceContentRemaining',
    status: 'False',
    reason: 'ContentRemoved',
    message: 'All content successfully removed',
    lastTransitionTime: '2026-01-01T00:00:02Z',
  });
});

test('reports remaining objects, and looks again', async () => {
  const held = { apiVersion: 'v1', kind: 'x', metadata: { finalizers: ['example.com/b'], deletionTimestamp: 'now' } };
  const { actions, log, condition } = recording({
    empty: async (one) => (one.resource === 'pods' ? undefined : remainsOf(one, [held, { ...held }])),
  });
  expect(await reconcileNamespace(leaving, actions)).toEqual(requeueAfter(1000));
  expect(log).toEqual(['write status']);
  expect(condition('NamespaceContentRemaining')?.message).toBe(
    'Some resources are remaining: configmaps. has 2 resource instances, secrets. has 2 resource instances',
  );
  expect(condition('NamespaceFinalizersRemaining')?.message).toBe(
    'Some content in the namespace has finalizers remaining: example.com/b in 4 resource instances',
  );
});

test('deletes nothing else while pods remain', async () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { deletionTimestamp: 'soon', deletionGracePeriodSeconds: 30 } };
  const asked: string[] = [];
  const { actions, condition } = recording({
    empty: async (one) => {
      asked.push(one.resource);
      return remainsOf(one, [pod]);
    },
  });
  expect(await reconcileNamespace(leaving, actions)).toMatchObject({ type: 'requeueAfter' });
  expect(asked).toEqual(['pods']);
  expect(condition('NamespaceContentRemaining')?.message).toBe('Some resources are remaining: pods. has 1 resource instances');
});

test('keeps the namespace and reports the type that cannot be emptied', async () => {
  const { actions, log, condition } = recording({
    empty: async (one) => {
      if (one.resource === 'secrets') throw new Error('secrets are locked');
      return undefined;
    },
  });
  expect(await reconcileNamespace(leaving, actions)).toMatchObject({ type: 'error', error: new Error('secrets are locked') });
  expect(log).toEqual(['write status']);
  expect(condition('NamespaceDeletionContentFailure')).toMatchObject({
    status: 'True',
    reason: 'ContentDeletionFailed',
    message: 'Failed to delete all resource types, 1 remaining: secrets are locked',
  });
});

test('fails if objects remain without a reason', async () => {
  const { actions, condition } = recording({
    empty: async (one) => (one.resource === 'secrets' ? remainsOf(one, [{ apiVersion: 'v1', kind: 'Secret', metadata: {} }]) : undefined),
  });
  expect(await reconcileNamespace(leaving, actions)).toMatchObject({ type: 'error' });
  expect(condition('NamespaceDeletionContentFailure')?.message).toBe(
    'Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: shop for gvr: /v1, Resource=secrets',
  );
});

test('keeps the namespace if discovery fails', async () => {
  const { actions, log, condition } = recording({ discover: () => Promise.reject(new Error('no discovery today')) });
  expect(await reconcileNamespace(leaving, actions)).toMatchObject({ type: 'error', error: new Error('no discovery today') });
  expect(log).toEqual(['write status']);
  expect(condition('NamespaceDeletionDiscoveryFailure')).toMatchObject({ status: 'True', message: 'no discovery today' });
});

test('does not write unchanged conditions', async () => {
  const first = recording({ finalize: () => Promise.reject(new Error('killed')) });
  let stored: Namespace | undefined;
  const actions = { ...first.actions, writeStatus: async (namespace: Namespace) => (stored = namespace) };
  await expect(reconcileNamespace(leaving, actions)).rejects.toThrow('killed');
  const { actions: later, log } = recording({ now: () => new Date('2026-02-01T00:00:00Z') });
  expect(await reconcileNamespace(stored, later)).toEqual(done);
  expect(log.slice(3)).toEqual(['finalize, keeping example.com/keep']);
});

test('deletableTypes returns each type once, in its first version, if it can be listed and deleted', () => {
  const found = deletableTypes([
    type('jobs', { group: 'batch', version: 'v1' }),
    type('jobs', { group: 'batch', version: 'v1beta1' }),
    type('nodes', { namespaced: false }),
    type('bindings', { verbs: ['create'] }),
  ]);
  expect(found.map(({ resource, version }) => `${resource} ${version}`)).toEqual(['jobs v1']);
});

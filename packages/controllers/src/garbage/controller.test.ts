import type { DeleteOptions } from '@capstan/client';
import type { KubeObject, OwnerReference } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { configMap, configMaps, gone, makeNamespace, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { GarbageCollector } from './controller.ts';

const events = { group: '', version: 'v1', resource: 'events', namespaced: true };
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };

let cluster: TestCluster;
let collector: AsyncDisposable;
const maps = (namespace = 'garbage') => cluster.client.resource(configMaps).in(namespace);

beforeAll(async () => {
  cluster = await startTestCluster();
  await makeNamespace(cluster.client, 'garbage');
  await makeNamespace(cluster.client, 'elsewhere');
  collector = cluster.run(new GarbageCollector());
});
afterAll(async () => {
  await collector[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

function ownedBy({ apiVersion, kind, metadata }: KubeObject, blockOwnerDeletion = true): OwnerReference {
  return { apiVersion, kind, name: metadata.name!, uid: metadata.uid!, blockOwnerDeletion };
}

/** A chain: each is owned by the one before. */
async function chain(...names: string[]): Promise<void> {
  let last: KubeObject | undefined;
  for (const name of names) {
    last = await maps().create(configMap(name, { ...(last !== undefined && { ownerReferences: [ownedBy(last)] }) }));
  }
}

async function remove(name: string, propagationPolicy: NonNullable<DeleteOptions['propagationPolicy']>): Promise<void> {
  await maps().delete(name, { propagationPolicy });
}

test('background: deletes dependents after their owner, at any depth', async () => {
  await chain('root', 'middle', 'leaf');
  await remove('root', 'Background');
  await gone(maps(), 'leaf');
  await gone(maps(), 'middle');
});

test('foreground: deletes the owner last', async () => {
  const order: string[] = [];
  const stop = new AbortController();
  await chain('first', 'second', 'third');
  const { metadata } = await maps().list();
  const watching = maps().follow({ resourceVersion: metadata.resourceVersion, signal: stop.signal }, ({ type, object }) => {
    if (type === 'DELETED') order.push(object.metadata.name ?? '');
  });
  await remove('first', 'Foreground');
  await gone(maps(), 'first');
  await vi.waitFor(() => expect(order).toEqual(['third', 'second', 'first']), 20_000);
  stop.abort();
  await watching.catch(() => {});
});

test('orphan: keeps dependents, without the owner reference', async () => {
  await chain('parent', 'orphan');
  await vi.waitFor(async () => expect((await maps().get('orphan')).metadata.ownerReferences).toHaveLength(1), 20_000);
  await remove('parent', 'Orphan');
  await gone(maps(), 'parent');
  expect((await maps().get('orphan')).metadata.ownerReferences).toBeUndefined();
});

test('deletes a cycle of owners in the foreground too', async () => {
  await chain('one', 'two');
  const two = await maps().get('two');
  await maps().patch('one', { type: 'merge', patch: { metadata: { ownerReferences: [{ ...ownedBy(two) }] } } });
  await remove('one', 'Foreground');
  await gone(maps(), 'one');
  await gone(maps(), 'two');
});

test('does not accept an owner with the right name and another uid', async () => {
  const owner = await maps().create(configMap('imposter'));
  await maps().create(configMap('misled', { ownerReferences: [{ ...ownedBy(owner), uid: '00000000-0000-0000-0000-000000000000' }] }));
  await gone(maps(), 'misled');
  expect(await maps().get('imposter')).toBeDefined();
});

test('keeps an object while one of two owners exists', async () => {
  const [kept, lost] = [await maps().create(configMap('kept')), await maps().create(configMap('lost'))];
  await maps().create(configMap('shared', { ownerReferences: [ownedBy(kept), ownedBy(lost)] }));
  await remove('lost', 'Background');
  await vi.waitFor(
    async () => expect((await maps().get('shared')).metadata.ownerReferences?.map(({ name }) => name)).toEqual(['kept']),
    20_000,
  );
});

describe('owners across namespaces', () => {
  const eventsOn = async (namespace: string, uid: string): Promise<string[]> => {
    const { items } = await cluster.client
      .resource<KubeObject & { reason?: string; message?: string }>(events)
      .in(namespace)
      .list({ fieldSelector: `involvedObject.uid=${uid}` });
    return items.map(({ reason, message }) => `${reason}: ${message}`);
  };

  test('do not count, and are reported in an event', async () => {
    const owner = await maps('elsewhere').create(configMap('far'));
    const made = await maps().create(configMap('near', { ownerReferences: [ownedBy(owner)] }));
    await gone(maps(), 'near');
    const text = `[v1/ConfigMap, namespace: garbage, name: far, uid: ${owner.metadata.uid}]`;
    await vi.waitFor(async () => {
      expect(await eventsOn('garbage', made.metadata.uid!)).toEqual([
        `OwnerRefInvalidNamespace: ownerRef ${text} does not exist in namespace "garbage"`,
      ]);
    }, 20_000);
  });

  test('do not lead to the deletion of a cluster-scoped object', async () => {
    const owner = await maps().create(configMap('inside'));
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'outside' }, rules: [] };
    const made = await cluster.client
      .resource(roles)
      .create({ ...role, metadata: { ...role.metadata, ownerReferences: [ownedBy(owner)] } });
    await vi.waitFor(async () => expect(await eventsOn('default', made.metadata.uid!)).toHaveLength(1), 20_000);
    expect(await cluster.client.resource(roles).get('outside')).toBeDefined();
  });
});

test('collects custom resources as soon as their type is served', async () => {
  const group = 'garbage.example.com';
  const things = { group, version: 'v1', resource: 'things', namespaced: true };
  await cluster.client.resource(definitions).create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  const all = cluster.client.resource(things).in('garbage');
  const thing = (name: string, owners: OwnerReference[]): KubeObject => ({
    apiVersion: `${group}/v1`,
    kind: 'Thing',
    metadata: { name, ownerReferences: owners },
  });
  const owner = await vi.waitFor(() => all.create(thing('owner', [])), { timeout: 20_000, interval: 50 });
  await all.create(thing('owned', [ownedBy(owner)]));
  await maps().create(configMap('owned-map', { ownerReferences: [ownedBy(owner)] }));
  await all.delete('owner', { propagationPolicy: 'Foreground' });
  await gone(all, 'owner');
  await gone(all, 'owned');
  await gone(maps(), 'owned-map');
});

test('catches up with changes while no collector ran', async () => {
  await collector[Symbol.asyncDispose]();
  await chain('before', 'after');
  await chain('waits', 'held');
  await chain('leaves', 'stays');
  await remove('before', 'Background');
  await remove('waits', 'Foreground');
  await remove('leaves', 'Orphan');
  collector = cluster.run(new GarbageCollector());
  for (const name of ['after', 'held', 'waits', 'leaves']) await gone(maps(), name);
  expect((await maps().get('stays')).metadata.ownerReferences).toBeUndefined();
});

describe('in other workspaces', () => {
  const logicalClusters = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters', namespaced: false };
  const logicalCluster = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster' } };
  const role = (name: string, metadata: KubeObject['metadata'] = {}): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, ...metadata },
    rules: [],
  });
  const rolesOf = (id: string) => cluster.client.cluster(id).resource(roles);
  beforeAll(async () => {
    for (const id of ['aaaa', 'bbbb']) await cluster.client.cluster(id).resource(logicalClusters).create(logicalCluster);
  });

  test('deletes dependents after their owner', async () => {
    const owner = await rolesOf('aaaa').create(role('owner'));
    await rolesOf('aaaa').create(role('owned', { ownerReferences: [ownedBy(owner)] }));
    await rolesOf('bbbb').create(role('owned'));
    await rolesOf('aaaa').delete('owner');
    await gone(rolesOf('aaaa'), 'owned');
    expect((await rolesOf('bbbb').get('owned')).metadata.name).toBe('owned');
  });

  test('ignores owners in another workspace', async () => {
    const owner = await rolesOf('aaaa').create(role('foreign'));
    await rolesOf('bbbb').create(role('stray', { ownerReferences: [ownedBy(owner)] }));
    await gone(rolesOf('bbbb'), 'stray');
    expect((await rolesOf('aaaa').get('foreign')).metadata.name).toBe('foreign');
  });
});

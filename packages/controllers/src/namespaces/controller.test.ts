import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { configMap, configMaps, gone, makeNamespace, namespaces, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { namespaceController } from './controller.ts';
import type { Namespace } from './namespace.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const all = () => cluster.client.resource<Namespace>(namespaces);
const conditionOf = async (name: string, type: string) => (await all().get(name)).status?.conditions?.find((one) => one.type === type);

test.each([5, 100])('deletes a namespace with its %i objects', async (count) => {
  const name = `full-${count}`;
  await makeNamespace(cluster.client, name);
  const maps = cluster.client.resource(configMaps).in(name);
  await Promise.all(Array.from({ length: count }, (_, index) => maps.create(configMap(`map-${index}`))));
  await using _ = cluster.run(namespaceController());
  await all().delete(name);
  await gone(all(), name);
  expect((await maps.list()).items).toEqual([]);
});

test('reports a remaining finalizer until it is removed', async () => {
  await makeNamespace(cluster.client, 'held');
  const maps = cluster.client.resource(configMaps).in('held');
  await maps.create(configMap('keeper', { finalizers: ['example.com/wait'] }));
  await maps.create(configMap('free'));
  await using _ = cluster.run(namespaceController());
  await all().delete('held');
  await vi.waitFor(async () => {
    expect(await conditionOf('held', 'NamespaceContentRemaining')).toMatchObject({
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: 'Some resources are remaining: configmaps. has 1 resource instances',
    });
  }, 20_000);
  expect(await conditionOf('held', 'NamespaceFinalizersRemaining')).toMatchObject({
    message: 'Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances',
  });
  await maps.patch('keeper', { type: 'merge', patch: { metadata: { finalizers: null } } });
  await gone(all(), 'held');
});

test('finishes a deletion that another process started', async () => {
  await makeNamespace(cluster.client, 'resumed');
  const maps = cluster.client.resource(configMaps).in('resumed');
  await maps.create(configMap('keeper', { finalizers: ['example.com/wait'] }));
  await all().delete('resumed');
  {
    await using _ = cluster.run(namespaceController());
    await vi.waitFor(async () => expect(await conditionOf('resumed', 'NamespaceContentRemaining')).toBeDefined(), 20_000);
  }
  await maps.patch('keeper', { type: 'merge', patch: { metadata: { finalizers: null } } });
  expect((await all().get('resumed')).spec?.finalizers).toEqual(['kubernetes']);
  await using _ = cluster.run(namespaceController());
  await gone(all(), 'resumed');
});

import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { configMap, configMaps, makeNamespace, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { QuotaController } from './controller.ts';

const quotas = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };
const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
const widgets = { group: 'example.com', version: 'v1', resource: 'widgets', namespaced: true };

let cluster: TestCluster;
let namespace = '';
let namespaces = 0;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
  namespace = `quotas-${++namespaces}`;
  await makeNamespace(cluster.client, namespace);
});

const quick = () => new QuotaController({ settles: 200 });
const makeMap = (name: string) => cluster.client.resource(configMaps).in(namespace).create(configMap(name));
const limit = (hard: object, spec: object = {}, name = 'q') =>
  cluster.client
    .resource(quotas)
    .in(namespace)
    .create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard, ...spec } } as KubeObject);
const statusIs = (status: object, name = 'q') =>
  vi.waitFor(async () => expect((await cluster.client.resource(quotas).in(namespace).get(name))['status']).toEqual(status), {
    timeout: 20_000,
    interval: 20,
  });

test('follows objects as they are created and deleted, and changes of the limits', async () => {
  await using _ = cluster.run(quick());
  await makeMap('before');
  await limit({ configmaps: '2', 'count/configmaps': '5', secrets: '1' });
  const hard = { configmaps: '2', 'count/configmaps': '5', secrets: '1' };
  await statusIs({ hard, used: { configmaps: '1', 'count/configmaps': '1', secrets: '0' } });
  await makeMap('second');
  await expect(makeMap('third')).rejects.toThrow('exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2');
  await cluster.client.resource(configMaps).in(namespace).delete('before');
  await statusIs({ hard, used: { configmaps: '1', 'count/configmaps': '1', secrets: '0' } });
  await cluster.client
    .resource(quotas)
    .in(namespace)
    .patch('q', { type: 'merge', patch: { spec: { hard: { configmaps: '3', secrets: null } } } });
  await statusIs({ hard: { configmaps: '3', 'count/configmaps': '5' }, used: { configmaps: '1', 'count/configmaps': '1' } });
});

test('counts all namespaces and cluster-scoped objects for a quota of the whole workspace', async () => {
  await using _ = cluster.run(quick());
  await makeNamespace(cluster.client, 'admin');
  const maps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
  const before = (await cluster.client.resource(maps).list()).items.length;
  await makeMap('here');
  const hard = { 'count/configmaps': '1k', 'count/customresourcedefinitions.apiextensions.k8s.io': '100' };
  const metadata = { name: 'all', annotations: { 'experimental.quota.kcp.io/cluster-scoped': 'true' } };
  const admin = cluster.client.resource(quotas).in('admin');
  await admin.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } } as KubeObject);
  const crds = (await cluster.client.resource(definitions).list()).items.length;
  const used = (count: number) => ({
    'count/configmaps': String(count),
    'count/customresourcedefinitions.apiextensions.k8s.io': String(crds),
  });
  const isUsed = (count: number) =>
    vi.waitFor(async () => expect((await admin.get('all'))['status']).toEqual({ hard, used: used(count) }), {
      timeout: 20_000,
      interval: 20,
    });
  await isUsed(before + 1);
  await cluster.client.resource(configMaps).in(namespace).delete('here');
  await isUsed(before);
  await admin.delete('all');
});

test('takes back charges for objects that were not stored', async () => {
  await using _ = cluster.run(quick());
  await limit({ configmaps: '5' });
  await statusIs({ hard: { configmaps: '5' }, used: { configmaps: '0' } });
  await makeMap('one');
  await expect(makeMap('one')).rejects.toThrow('already exists');
  await statusIs({ hard: { configmaps: '5' }, used: { configmaps: '1' } });
});

test('releases the usage of a pod when it ends', async () => {
  await using _ = cluster.run(quick());
  await limit({ pods: '1', 'requests.cpu': '1', 'count/pods': '2' }, { scopes: [] });
  const hard = { pods: '1', 'requests.cpu': '1', 'count/pods': '2' };
  await statusIs({ hard, used: { pods: '0', 'requests.cpu': '0', 'count/pods': '0' } });
  const all = cluster.client.resource(pods).in(namespace);
  const pod = await all.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '600m' } } }] },
  } as KubeObject);
  await statusIs({ hard, used: { pods: '1', 'requests.cpu': '600m', 'count/pods': '1' } });
  await all.updateStatus({ ...pod, status: { ...(pod['status'] as object), phase: 'Succeeded' } } as KubeObject);
  await statusIs({ hard, used: { pods: '0', 'requests.cpu': '0', 'count/pods': '1' } });
});

test('counts custom resources from when their kind is served', async () => {
  await using _ = cluster.run(quick());
  await limit({ 'count/widgets.example.com': '1' });
  await statusIs({ hard: { 'count/widgets.example.com': '1' } });
  await cluster.client.resource(definitions).create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  } as KubeObject);
  await statusIs({ hard: { 'count/widgets.example.com': '1' }, used: { 'count/widgets.example.com': '0' } });
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } };
  await cluster.client.resource(widgets).in(namespace).create(widget);
  await expect(
    cluster.client
      .resource(widgets)
      .in(namespace)
      .create({ ...widget, metadata: { name: 'x' } }),
  ).rejects.toThrow('exceeded quota');
  await cluster.client.resource(widgets).in(namespace).delete('w');
  await statusIs({ hard: { 'count/widgets.example.com': '1' }, used: { 'count/widgets.example.com': '0' } });
});

test('counts what a killed process missed', async () => {
  const first = cluster.run(quick());
  await limit({ configmaps: '100' });
  await statusIs({ hard: { configmaps: '100' }, used: { configmaps: '0' } });
  await Promise.all(Array.from({ length: 20 }, (_, index) => makeMap(`m${index}`)));
  const deleting = Promise.all(
    Array.from({ length: 15 }, (_, index) => cluster.client.resource(configMaps).in(namespace).delete(`m${index}`)),
  );
  await first[Symbol.asyncDispose]();
  await deleting;
  await using _ = cluster.run(quick());
  await statusIs({ hard: { configmaps: '100' }, used: { configmaps: '5' } });
});

test('never lets a quota be exceeded while objects are created and deleted during counts', async () => {
  await using _ = cluster.run(quick());
  await limit({ configmaps: '10' });
  await statusIs({ hard: { configmaps: '10' }, used: { configmaps: '0' } });
  const maps = cluster.client.resource(configMaps).in(namespace);
  const churn = async (worker: number): Promise<number> => {
    let most = 0;
    for (let round = 0; round < 15; round++) {
      const name = `m-${worker}-${round}`;
      const made = await makeMap(name).then(
        () => true,
        () => false,
      );
      most = Math.max(most, (await maps.list()).items.length);
      if (made) await maps.delete(name);
    }
    return most;
  };
  const seen = await Promise.all(Array.from({ length: 16 }, (_, worker) => churn(worker)));
  expect(Math.max(...seen)).toBeLessThanOrEqual(10);
  await statusIs({ hard: { configmaps: '10' }, used: { configmaps: '0' } });
});

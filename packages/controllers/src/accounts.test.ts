import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, connectionOf, isNotFound, loadKubeconfig } from '@capstan/client';
import { ignoring, Manager } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { expect, test, vi } from 'vitest';
import { controllers } from './index.ts';
import { configMap, configMaps, gone, makeNamespace, namespaces, startTestCluster, type TestCluster } from './suite/cluster.ts';

const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };

const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };
const accessReviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews', namespaced: false };
const rule = { apiGroups: ['shop.example.com'], resources: ['carts'], verbs: ['get'] };
const patience = { timeout: 20_000, interval: 20 };

test('every account has its role, bound to it, and the process may act as it', async () => {
  await using cluster = await startTestCluster();
  const connection = connectionOf(loadKubeconfig({ path: join(cluster.directory, 'controller-manager.kubeconfig') }));
  using process = new Client(connection);
  for (const account of new Set(controllers.map((one) => one.account))) {
    // Some have rights in their own namespace only.
    const [role, bound] = await Promise.all([
      readEither(cluster, 'clusterroles', 'roles', account),
      readEither(cluster, 'clusterrolebindings', 'rolebindings', account),
    ]);
    expect(role['rules'], account).not.toEqual([]);
    expect(bound['subjects']).toMatchObject([{ kind: 'ServiceAccount', name: account, namespace: 'kube-system' }]);
    const review = await process.resource(accessReviews).create({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { resourceAttributes: { verb: 'impersonate', resource: 'serviceaccounts', namespace: 'kube-system', name: account } },
    });
    expect(review['status'], account).toMatchObject({ allowed: true });
  }
});

async function readEither({ client }: TestCluster, clusterWide: string, namespaced: string, account: string): Promise<KubeObject> {
  const name = `system:controller:${account}`;
  const found = await ignoring(client.resource({ ...roles, resource: clusterWide }).get(name), isNotFound);
  return (
    found ??
    client
      .resource({ ...roles, resource: namespaced, namespaced: true })
      .in('kube-system')
      .get(name)
  );
}

test('every controller works with the rights of its account alone, and the process with its own', async () => {
  await using cluster = await startTestCluster();
  const connection = connectionOf(loadKubeconfig({ path: join(cluster.directory, 'controller-manager.kubeconfig') }));
  const read = (name: string): string => readFileSync(join(cluster.directory, 'pki', name), 'utf8');
  const signing = { load: () => ({ certificate: read('signer.crt'), key: read('signer.key') }) };
  const lines: string[] = [];
  using clients = new DisposableStack();
  const manager = new Manager({
    client: clients.use(new Client(connection)),
    leaderElection: { namespace: 'kube-system', name: 'capstan-controller-manager', retryPeriod: 100 },
    stopWithin: 1,
    log: (line) => void lines.push(line),
  });
  for (const { account, workspaces, make } of controllers) {
    const impersonate = { user: `system:serviceaccount:kube-system:${account}` };
    manager.add(make({ authority: 'PEM', signing, concurrency: undefined }), {
      client: clients.use(new Client({ ...connection, impersonate })).cluster(workspaces === 'root' ? 'root' : '*'),
    });
  }
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await vi.waitFor(
    async () => expect(await cluster.client.resource(leases).in('kube-system').get('capstan-controller-manager')).toBeDefined(),
    20_000,
  );
  await makeNamespace(cluster.client, 'shop');
  const maps = cluster.client.resource(configMaps).in('shop');
  await vi.waitFor(async () => expect(await maps.get('kube-root-ca.crt')).toBeDefined(), patience);
  const { apiVersion, kind, metadata } = await maps.create(configMap('owner'));
  await maps.create(configMap('owned', { ownerReferences: [{ apiVersion, kind, name: 'owner', uid: metadata.uid! }] }));
  await maps.delete('owner', { propagationPolicy: 'Background' });
  await gone(maps, 'owned');
  await cluster.client.resource(roles).create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'shop-viewer', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [rule],
  });
  await vi.waitFor(async () => expect((await cluster.client.resource(roles).get('admin'))['rules']).toContainEqual(rule), patience);
  await cluster.client.resource(namespaces).delete('shop');
  await gone(cluster.client.resource(namespaces), 'shop');
  stop.abort();
  await running;
  expect(lines.filter((line) => /forbidden|cannot/i.test(line))).toEqual([]);
});

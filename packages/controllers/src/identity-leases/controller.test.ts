import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gone, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { identityLeaseController } from './controller.ts';

const type = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };
const identity = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const lease = (name: string, labels: Record<string, string>, spec: object): KubeObject =>
  ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, labels }, spec }) as KubeObject;

test('deletes the leases of servers that are gone, and no others', async () => {
  const leases = cluster.client.resource(type).in('kube-system');
  const old = { renewTime: '2020-01-01T00:00:00.000000Z', leaseDurationSeconds: 10 };
  const fresh = { renewTime: new Date().toISOString().replace('Z', '000Z'), leaseDurationSeconds: 3600 };
  await leases.create(lease('gone', identity, old));
  await leases.create(lease('endless', identity, {}));
  await leases.create(lease('here', identity, fresh));
  await leases.create(lease('leader', {}, old));
  await using _ = cluster.run(identityLeaseController({ concurrency: undefined }));
  await gone(leases, 'gone');
  await gone(leases, 'endless');
  await leases.create(lease('brief', identity, { ...fresh, leaseDurationSeconds: 1 }));
  await gone(leases, 'brief');
  expect((await leases.list()).items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(['here', 'leader']));
});

import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gone, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { bootstrapTokenController } from './controller.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const secret = (name: string, expiration: string, type = 'bootstrap.kubernetes.io/token'): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, stringData: { expiration } }) as KubeObject;

test('deletes expired bootstrap tokens, and no other secrets', async () => {
  const secrets = cluster.client.resource({ group: '', version: 'v1', resource: 'secrets', namespaced: true }).in('kube-system');
  const [past, future] = ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'];
  await secrets.create(secret('over', past));
  await secrets.create(secret('valid', future));
  await secrets.create(secret('other', past, 'Opaque'));
  await using _ = cluster.run(bootstrapTokenController({ concurrency: undefined }));
  await gone(secrets, 'over');
  await secrets.create(secret('brief', new Date(Date.now() + 1_000).toISOString()));
  await gone(secrets, 'brief');
  expect((await secrets.list()).items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(['valid', 'other']));
});

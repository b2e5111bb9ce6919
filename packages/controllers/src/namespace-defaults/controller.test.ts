import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { configMaps, makeNamespace, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { namespaceDefaultsController } from './controller.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('every namespace, old or new, has them, and gets them back', async () => {
  const { client } = cluster;
  await using _ = cluster.run(namespaceDefaultsController({ authority: 'PEM' }));
  await makeNamespace(client, 'fresh');
  for (const namespace of ['default', 'fresh']) {
    const maps = client.resource(configMaps).in(namespace);
    const isWhole = () =>
      vi.waitFor(
        async () => {
          expect(await client.resource(accounts).in(namespace).get('default')).toMatchObject({ kind: 'ServiceAccount' });
          expect(await maps.get('kube-root-ca.crt')).toMatchObject({ data: { 'ca.crt': 'PEM' } });
        },
        { timeout: 20_000, interval: 20 },
      );
    await isWhole();
    await client.resource(accounts).in(namespace).delete('default');
    await maps.patch('kube-root-ca.crt', { type: 'merge', patch: { data: { 'ca.crt': 'THEIRS' } } });
    await isWhole();
    await maps.delete('kube-root-ca.crt');
    await isWhole();
  }
});

import { type Workspace, workspaceKind } from '@capstan/api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { configMap, configMaps, makeNamespace, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { runControllers } from '../suite/running.ts';
import { make, startTenants, workspace } from '../suite/tenants.ts';
import { namespaceDefaultsController } from './controller.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('keeps the objects in every old and new namespace, and restores them', async () => {
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

test('restores nothing in a workspace that is being deleted', async () => {
  await using tenants = await startTenants();
  const { client } = tenants;
  await using _tenancy = tenants.run();
  await make(client, 'root', workspace('ending'));
  const maps = client.cluster('root:ending').resource(configMaps).in('default');
  const log: string[] = [];
  let attempts = 0;
  const everywhere = client.cluster('*').guarded(() => void attempts++);
  await using _ = runControllers({ client: everywhere, log: (line) => log.push(line) }, [
    namespaceDefaultsController({ authority: 'PEM' }),
  ]);
  await vi.waitFor(async () => expect(await maps.get('kube-root-ca.crt')).toMatchObject({ data: { 'ca.crt': 'PEM' } }));
  await maps.create(configMap('held', { finalizers: ['example.com/hold'] }));
  attempts = 0;
  await client.cluster('root').resource<Workspace>(workspaceKind).delete('ending');
  // The controller has noticed the deletions, and has tried to restore the objects.
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(0), { timeout: 10_000 });
  // The purge may still be deleting: nothing comes back once it is done.
  await vi.waitFor(
    async () => {
      expect((await maps.list()).items.map(({ metadata }) => metadata.name)).toEqual(['held']);
      expect((await client.cluster('root:ending').resource(accounts).list()).items).toEqual([]);
    },
    { timeout: 10_000 },
  );
  expect(log).toEqual([]);
});

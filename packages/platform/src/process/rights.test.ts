import { join } from 'node:path';
import { apiExportKind, defineKind, type EndpointSlice, endpointSliceKind, newObject, schema, workspaceKind } from '@capstan/api';
import { Client, clusterOf, connectionOf, loadKubeconfig, type ResourceType } from '@capstan/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportName, productsNamespace } from '../content/names.ts';
import { noteKind, notes } from '../examples/notes.ts';
import type { Product } from '../product.ts';
import { type Cloud, startCloud } from '../testing/cloud.ts';
import { accountTokens } from './account-tokens.ts';

const { object, text } = schema;
const ledgerKind = defineKind({
  group: 'ledger.example.com',
  kind: 'Ledger',
  plural: 'ledgers',
  scope: 'Namespaced',
  description: 'The kind of another product.',
  versions: { v1alpha1: { spec: object('The ledger.', { owner: text('Its owner.') }) } },
});
const ledger: Product = {
  name: 'ledger',
  kinds: [ledgerKind],
  boundBy: ['project'],
  claims: [{ group: '', resource: 'configmaps', verbs: ['get', 'list', 'watch'] }],
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }],
  controllers: [],
};

const core = (resource: string, namespaced = true): ResourceType => ({ group: '', version: 'v1', resource, namespaced });
const secrets = core('secrets');
const configMaps = core('configmaps');
const namespaces = core('namespaces', false);
const accounts = core('serviceaccounts');
const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', namespaced: false };

let cloud: Cloud;
const owned = new DisposableStack();
beforeAll(async () => {
  cloud = await startCloud({ products: [notes, ledger], tenants: 1 });
  const [tenant] = cloud.tenants;
  const metadata = { name: 'it', namespace: 'default' };
  await tenant!.client.resource(secrets).create({ apiVersion: 'v1', kind: 'Secret', metadata });
  await tenant!.client.resource(configMaps).create({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await tenant!.client.resource(ledgerKind).create(newObject(ledgerKind, { metadata, spec: { owner: 'me' } }));
  await tenant!.client.resource(noteKind).create(newObject(noteKind, { metadata, spec: { text: 'a' } }));
}, 60_000);
afterAll(async () => {
  owned.dispose();
  await cloud[Symbol.asyncDispose]();
});

/** A client with the credentials that the process uses for a product. */
function accountOf({ name }: Product): Client {
  const credentials = accountTokens({ client: cloud.platform, account: { namespace: productsNamespace, name } });
  return owned.use(new Client({ ...cloud.client.connection, credentials }));
}

async function viewOf(product: Product): Promise<string> {
  const slice = await cloud.platform.resource<EndpointSlice>(endpointSliceKind).get(exportName(product));
  return new URL(slice.status!.endpoints![0]!.url).pathname;
}

const codeOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: { code?: number }) => error.code ?? 0,
  );
const listing = (client: Client, type: ResourceType): Promise<number> => codeOf(client.resource(type).list());

describe('the account of a product', () => {
  test('sees the objects of its kinds, and those that it claims, through the view of its export', async () => {
    const [seen, counted] = [accountOf(notes).under(await viewOf(notes)), accountOf(ledger).under(await viewOf(ledger))];
    const found = await seen.cluster('*').resource(noteKind).list();
    expect(found.items.map(({ metadata }) => metadata.name)).toEqual(['it']);
    expect((await counted.cluster('*').resource(configMaps).list()).items.map(({ metadata }) => metadata.name)).toContain('it');
  });

  test('sees nothing else there: no kinds of other products, and nothing that it does not claim', async () => {
    const view = accountOf(notes)
      .under(await viewOf(notes))
      .cluster('*');
    for (const type of [ledgerKind, secrets, configMaps, namespaces]) expect([403, 404]).toContain(await listing(view, type));
    const claiming = accountOf(ledger)
      .under(await viewOf(ledger))
      .cluster('*');
    expect([403, 404]).toContain(await listing(claiming, secrets));
    const [map] = (await claiming.resource(configMaps).list()).items;
    const cluster = clusterOf(map!)!;
    const inside = accountOf(ledger)
      .under(await viewOf(ledger))
      .cluster(cluster);
    expect(await codeOf(inside.resource(configMaps).delete({ namespace: 'default', name: 'it' }))).toBe(403);
  });

  test("cannot use another product's view", async () => {
    expect(
      await listing(
        accountOf(notes)
          .under(await viewOf(ledger))
          .cluster('*'),
        ledgerKind,
      ),
    ).toBe(403);
  });

  test('cannot enter a workspace of a tenant, root, or all workspaces at once', async () => {
    const account = accountOf(notes);
    const { path } = cloud.tenants[0]!;
    for (const type of [noteKind, secrets, namespaces]) {
      expect(await listing(account.cluster(path), type)).toBe(403);
      expect(await listing(account.cluster('root'), type)).toBe(403);
      expect(await listing(account.cluster('*'), type)).toBe(403);
    }
    // Every user may list the workspaces of root; nobody may thereby enter them.
    expect(await listing(account.cluster('root:main'), workspaceKind)).toBe(403);
    const made = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'mine' } };
    expect(await codeOf(account.cluster('root').resource(workspaceKind).create(made))).toBe(403);
  });

  test('has only the rights of its product in root:platform', async () => {
    const [own, other] = [accountOf(ledger).cluster('root:platform'), accountOf(notes).cluster('root:platform')];
    expect(await listing(own, configMaps)).toBe(200);
    expect(await listing(other, configMaps)).toBe(403);
    for (const client of [own, other]) {
      for (const type of [secrets, accounts, roles, namespaces]) expect(await listing(client, type)).toBe(403);
      const patch = { type: 'merge', patch: { metadata: { labels: { stolen: 'yes' } } } } as const;
      expect(await codeOf(client.resource(apiExportKind).patch(exportName(notes), patch))).toBe(403);
      const token = accountTokens({ client, account: { namespace: productsNamespace, name: 'notes' } });
      expect(await codeOf(Promise.resolve(token.current()))).toBe(403);
    }
  });
});

test('the user of the process cannot enter a workspace of a tenant either, and reads nothing in root but types', async () => {
  using client = new Client(connectionOf(loadKubeconfig({ path: join(cloud.server.directory, 'platform-controllers.kubeconfig') })));
  for (const type of [secrets, configMaps, namespaces, noteKind]) {
    expect(await listing(client.cluster(cloud.tenants[0]!.path), type)).toBe(403);
    expect(await listing(client.cluster('*'), type)).toBe(403);
  }
  expect(await listing(client.cluster('root'), secrets)).toBe(403);
});

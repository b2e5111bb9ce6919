import { workspaceKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type SharingTenants, startSharingTenants } from '../suite/sharing-tenants.ts';
import { make, untilGone, workspace } from '../suite/tenants.ts';
import { namespaceType, secretType } from './kinds.ts';
import { binding, bindings, cowboy, cowboyType, exports, offer } from './testing.ts';

let tenants: SharingTenants;
let consumer: Client;
beforeAll(async () => {
  tenants = await startSharingTenants();
});
afterAll(() => tenants[Symbol.asyncDispose]());

const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 15_000, interval: 50 });
const condition = async (): Promise<object | undefined> =>
  (await bindings(consumer).get('cowboys')).status?.conditions?.find(({ type }) => type === 'APIExportValid');
const identity = { secretRef: { namespace: 'default', name: 'key' } };

/** A provider at the same path as an earlier one, with a key of its own. */
async function startProvider(key: string): Promise<string> {
  const { spec } = await make(tenants.client, 'root', workspace('shop'));
  const provider = tenants.client.cluster('root:shop');
  const data = { key: Buffer.from(key).toString('base64') };
  await provider.resource(secretType).create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'default' }, data });
  await offer(provider, 'cowboys', { identity });
  await eventually(async () => expect((await exports(provider).get('cowboys')).status?.identityHash).toBeDefined());
  return spec!.cluster!;
}

async function endProvider(): Promise<void> {
  await tenants.client.cluster('root').resource(workspaceKind).delete('shop');
  await untilGone(tenants.client, 'root', 'shop');
}

test('recognizes a provider that was created again at its path only by its key', async () => {
  await make(tenants.client, 'root', workspace('customer'));
  consumer = tenants.client.cluster('root:customer');
  const first = await startProvider('one');
  await bindings(consumer).create(binding('cowboys', 'root:shop'));
  await eventually(async () => expect((await bindings(consumer).get('cowboys')).status?.phase).toBe('Bound'));
  const label = (await bindings(consumer).get('cowboys')).metadata.labels!['internal.apis.kcp.io/export'];
  expect((await consumer.resource(namespaceType).get('default')).metadata.name).toBe('default');
  await consumer.resource(cowboyType).in('default').create(cowboy('billy'));

  await endProvider();
  await eventually(async () => expect(await condition()).toMatchObject({ reason: 'APIExportNotFound' }));
  await startProvider('another');
  await eventually(async () => expect(await condition()).toMatchObject({ status: 'False', reason: 'IdentityMismatch' }));
  expect((await bindings(consumer).get('cowboys')).status?.apiExportClusterName).toBe(first);

  await endProvider();
  const third = await startProvider('one');
  await eventually(async () => expect(await condition()).toMatchObject({ status: 'True' }));
  expect(third).not.toBe(first);
  const followed = await bindings(consumer).get('cowboys');
  expect(followed.status?.apiExportClusterName).toBe(third);
  await eventually(async () =>
    expect((await bindings(consumer).get('cowboys')).metadata.labels!['internal.apis.kcp.io/export']).not.toBe(label),
  );
  expect((await consumer.resource(cowboyType).in('default').get('billy'))['spec']).toEqual({ intent: 'yeehaw' });
});

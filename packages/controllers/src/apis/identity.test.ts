import type { Client } from '@capstan/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { namespaceType, secretType } from './kinds.ts';
import { binding, bindings, cowboy, cowboyExport, cowboyType, exports, offer, type SharingSuite, startSharing } from './testing.ts';

let suite: SharingSuite;
beforeAll(async () => {
  suite = await startSharing();
});
afterAll(() => suite[Symbol.asyncDispose]());

const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 50 });
const claim = { group: '', resource: 'secrets', verbs: ['*'] };
const accepted = { ...claim, selector: { matchAll: true }, state: 'Accepted' as const };
const seen = async (path: string): Promise<unknown[]> =>
  (await suite.server.call(`/services/apiexport/provider/cowboys/clusters/*${path}`)).json().items ?? [];

const identityOf = async (provider: Client): Promise<string | undefined> => (await exports(provider).get('cowboys')).status?.identityHash;
const condition = async (client: Client): Promise<object | undefined> =>
  (await bindings(client).get('cowboys')).status?.conditions?.find(({ type }) => type === 'APIExportValid');

test('treats an export that was created again with another identity as another one: consumers keep their objects, and it cannot see them', async () => {
  const provider = await suite.workspace('provider');
  const consumer = await suite.workspace('consumer');
  await offer(provider, 'cowboys', { permissionClaims: [claim] });
  await bindings(consumer).create(binding('cowboys', 'provider', { permissionClaims: [accepted] }));
  await eventually(async () => expect((await bindings(consumer).get('cowboys')).status?.phase).toBe('Bound'));
  await consumer.resource(namespaceType).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  await consumer.resource(cowboyType).in('default').create(cowboy('billy'));
  await consumer
    .resource(secretType)
    .in('default')
    .create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'own', namespace: 'default' } });
  expect(await seen('/apis/wildwest.dev/v1alpha1/cowboys')).toHaveLength(1);
  expect(await seen('/api/v1/secrets')).toHaveLength(1);
  const before = await identityOf(provider);
  const key = await provider.resource(secretType).in('kcp-system').get('cowboys');

  await exports(provider).delete('cowboys');
  await provider.resource(secretType).in('kcp-system').delete('cowboys');
  await eventually(async () => expect(await condition(consumer)).toMatchObject({ reason: 'APIExportNotFound' }));
  await exports(provider).create(cowboyExport('cowboys', 'today', { permissionClaims: [claim] }));
  await eventually(async () => expect(await identityOf(provider)).toMatch(/^[0-9a-f]{64}$/));
  expect(await identityOf(provider)).not.toBe(before);
  await eventually(async () => expect(await condition(consumer)).toMatchObject({ status: 'False', reason: 'IdentityMismatch' }));
  const [bound] = (await bindings(consumer).get('cowboys')).status!.boundResources!;
  expect(bound!.schema.identityHash).toBe(before);
  expect((await consumer.resource(cowboyType).in('default').get('billy'))['spec']).toEqual({ intent: 'yeehaw' });
  expect(await seen('/apis/wildwest.dev/v1alpha1/cowboys')).toEqual([]);
  expect(await seen('/api/v1/secrets')).toEqual([]);
  const inside = '/services/apiexport/provider/cowboys/clusters/consumer/api/v1/secrets';
  expect((await suite.server.call(inside)).code).toBe(403);

  // With the old key the export has the old identity, and its consumers again.
  await exports(provider).delete('cowboys');
  await provider.resource(secretType).in('kcp-system').delete('cowboys');
  const { name, namespace } = key.metadata;
  await provider
    .resource(secretType)
    .in('kcp-system')
    .create({ ...key, metadata: { name: name!, namespace: namespace! } });
  await exports(provider).create(cowboyExport('cowboys', 'today', { permissionClaims: [claim] }));
  await eventually(async () => expect(await condition(consumer)).toMatchObject({ status: 'True' }));
  expect(await seen('/apis/wildwest.dev/v1alpha1/cowboys')).toHaveLength(1);
});

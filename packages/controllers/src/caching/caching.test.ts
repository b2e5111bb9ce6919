import {
  type ApiExport,
  type ApiResourceSchema,
  apiResourceSchemaKind,
  type CachedResource,
  type CachedResourceEndpointSlice,
  cachedResourceKind,
  cachedResourceSliceKind,
  type ExportedResource,
} from '@capstan/api';
import type { Client } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { definitionType } from '../apis/kinds.ts';
import { binding, bindings, exports, type SharingSuite, startSharing } from '../apis/testing.ts';
import { CountController } from './counts/controller.ts';
import { cachedResourceController } from './resources/controller.ts';
import { cachedSliceController } from './slices/controller.ts';

let suite: SharingSuite;
beforeAll(async () => {
  suite = await startSharing([cachedResourceController(), new CountController(), cachedSliceController()]);
});
afterAll(() => suite[Symbol.asyncDispose]());

const flavorType = { group: 'cloud.example.com', version: 'v1', resource: 'flavors', namespaced: false };
const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 50 });
const cached = (client: Client) => client.resource<CachedResource>(cachedResourceKind);
const slices = (client: Client) => client.resource<CachedResourceEndpointSlice>(cachedResourceSliceKind);

const names = { plural: 'flavors', singular: 'flavor', kind: 'Flavor', listKind: 'FlavorList' };
const version = { name: 'v1', served: true, storage: true };
const schema = { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } };
const flavor = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'cloud.example.com/v1',
  kind: 'Flavor',
  metadata: { name, labels },
  spec: { gpus: 8 },
});

async function define(client: Client): Promise<void> {
  const spec = { group: flavorType.group, names, scope: 'Cluster', versions: [{ ...version, schema: { openAPIV3Schema: schema } }] };
  await client.resource(definitionType).create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'flavors.cloud.example.com' },
    spec,
  });
  await eventually(async () => void (await client.resource(flavorType).list()));
}

async function publish(client: Client, spec: object = {}): Promise<CachedResource> {
  await cached(client).create({
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name: 'flavors' },
    spec: { group: flavorType.group, version: 'v1', resource: 'flavors', ...spec },
  });
  await eventually(async () => expect((await cached(client).get('flavors')).status).toMatchObject({ phase: 'Ready' }));
  return cached(client).get('flavors');
}

async function offer(client: Client, identityHash: string): Promise<void> {
  await client.resource<ApiResourceSchema>(apiResourceSchemaKind).create({
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'today.flavors.cloud.example.com' },
    spec: { group: flavorType.group, names, scope: 'Cluster', versions: [{ ...version, schema }] as never },
  });
  const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' };
  const resource: ExportedResource = {
    group: flavorType.group,
    name: 'flavors',
    schema: 'today.flavors.cloud.example.com',
    storage: { virtual: { reference, identityHash } },
  };
  const made: ApiExport = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'catalog' },
    spec: { resources: [resource] },
  };
  await exports(client).create(made);
}

const isBound = (client: Client): Promise<void> =>
  eventually(async () => expect((await bindings(client).get('catalog')).status).toMatchObject({ phase: 'Bound' }));
const why = async (client: Client): Promise<string | undefined> =>
  (await bindings(client).get('catalog')).status?.conditions?.find(({ type }) => type === 'APIExportValid')?.message;

/** A provider with one flavor, to which a consumer is bound. */
async function shared(provider: Client, consumer: Client, id: string): Promise<void> {
  await define(provider);
  const { status } = await publish(provider);
  await provider.resource(flavorType).create(flavor('large'));
  await offer(provider, status!.identityHash!);
  await bindings(consumer).create(binding('catalog', id));
  await isBound(consumer);
}

test('counts the published objects as they are created and deleted', async () => {
  const provider = await suite.workspace('counting');
  await define(provider);
  for (const name of ['a', 'b']) await provider.resource(flavorType).create(flavor(name, { public: 'yes' }));
  await provider.resource(flavorType).create(flavor('hidden'));
  await publish(provider, { labelSelector: { matchExpressions: [{ key: 'public', operator: 'Exists' }] } });
  const counts = (cache: number): Promise<void> =>
    eventually(async () => expect((await cached(provider).get('flavors')).status?.resourceCounts).toEqual({ cache, local: cache }));
  await counts(2);
  await provider.resource(flavorType).delete('a');
  await counts(1);
  const { labelSelector: _, ...spec } = (await cached(provider).get('flavors')).spec!;
  await cached(provider).update({ ...(await cached(provider).get('flavors')), spec });
  await counts(2);
});

test('publishes a kind once it is served', async () => {
  const provider = await suite.workspace('early');
  const spec = { group: flavorType.group, version: 'v1', resource: 'flavors' };
  await cached(provider).create({ apiVersion: 'cache.kcp.io/v1alpha1', kind: 'CachedResource', metadata: { name: 'flavors' }, spec });
  await eventually(async () =>
    expect((await cached(provider).get('flavors')).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'ResourceValid', status: 'False', reason: 'NoResources' }),
    ),
  );
  await define(provider);
  await eventually(async () => expect((await cached(provider).get('flavors')).status).toMatchObject({ phase: 'Ready' }));
});

test('serves published objects to a consumer, and their URL while somebody is bound', async () => {
  const provider = await suite.workspace('provider1');
  const consumer = await suite.workspace('consumer1');
  await shared(provider, consumer, 'provider1');
  expect((await consumer.resource(flavorType).list()).items).toMatchObject([
    { metadata: { name: 'large', annotations: { 'kcp.io/cluster': 'consumer1' } } },
  ]);
  const url = `${suite.server.url}/services/replication/provider1/flavors`;
  expect((await slices(provider).get('flavors')).status?.endpoints).toEqual([{ url }]);
  await bindings(consumer).delete('catalog');
  await eventually(async () => expect((await bindings(consumer).list()).items).toEqual([]));
  await eventually(async () => expect((await slices(provider).get('flavors')).status?.endpoints).toBeUndefined());
  expect((await provider.resource(flavorType).get('large')).metadata.deletionTimestamp).toBeUndefined();
  await expect(consumer.resource(flavorType).list()).rejects.toMatchObject({ code: 404 });
});

test('reports in the binding what its provider removed, and lets it be deleted', async () => {
  const provider = await suite.workspace('provider2');
  const consumer = await suite.workspace('consumer2');
  await shared(provider, consumer, 'provider2');
  await cached(provider).delete('flavors');
  await eventually(async () =>
    expect(await why(consumer)).toContain('flavors.cloud.example.com: CachedResource provider2|flavors not found'),
  );
  await expect(consumer.resource(flavorType).list()).rejects.toMatchObject({ code: 500 });
  // The key still exists, so the identity is the same.
  await publish(provider);
  await eventually(async () => expect(await why(consumer)).toBeUndefined());
  expect((await consumer.resource(flavorType).list()).items).toHaveLength(1);
  const offering = await exports(provider).get('catalog');
  const [resource] = offering.spec!.resources!;
  const virtual = { ...resource!.storage!.virtual!, identityHash: 'other' };
  await exports(provider).update({ ...offering, spec: { ...offering.spec, resources: [{ ...resource!, storage: { virtual } }] } });
  await eventually(async () =>
    expect(await why(consumer)).toContain('the identity hash of CachedResource provider2|flavors is not the one'),
  );
  await expect(consumer.resource(flavorType).list()).rejects.toMatchObject({ code: 500 });
  await exports(provider).delete('catalog');
  await eventually(async () => expect(await why(consumer)).toBe('APIExport provider2|catalog not found'));
  await bindings(consumer).delete('catalog');
  await eventually(async () => expect((await bindings(consumer).list()).items).toEqual([]));
  expect((await provider.resource(flavorType).list()).items).toHaveLength(1);
});

test('reports whether the CachedResource of a slice in another workspace exists', async () => {
  const provider = await suite.workspace('provider3');
  const other = await suite.workspace('other3');
  await define(provider);
  await publish(provider);
  const slice = (name: string, of: string): CachedResourceEndpointSlice => ({
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name },
    spec: { cachedResource: { path: 'provider3', name: of } },
  });
  await slices(other).create(slice('right', 'flavors'));
  await slices(other).create(slice('wrong', 'nothing'));
  const condition = async (name: string) =>
    (await slices(other).get(name)).status?.conditions?.find(({ type }) => type === 'ResourceValid');
  await eventually(async () => expect(await condition('right')).toMatchObject({ status: 'True' }));
  await eventually(async () =>
    expect(await condition('wrong')).toMatchObject({
      status: 'False',
      reason: 'CachedResourceNotFound',
      message: 'Error getting CachedResource provider3|nothing',
    }),
  );
});

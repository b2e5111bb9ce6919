import {
  type ApiExportEndpointSlice,
  type ApiResourceSchema,
  apiResourceSchemaKind,
  boundSchemasCluster,
  endpointSliceKind,
} from '@capstan/api';
import type { Client } from '@capstan/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { definitionType, namespaceType, secretType } from './kinds.ts';
import { binding, bindings, cowboy, cowboySchema, cowboyType, exports, offer, type SharingSuite, startSharing } from './testing.ts';

let suite: SharingSuite;
beforeAll(async () => {
  suite = await startSharing();
});
afterAll(() => suite[Symbol.asyncDispose]());

const eventually = (check: () => Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 50 });

async function isBound(client: Client, name: string): Promise<void> {
  await eventually(async () => expect((await bindings(client).get(name)).status).toMatchObject({ phase: 'Bound' }));
}

async function condition(client: Client, name: string, type: string): Promise<object | undefined> {
  return (await bindings(client).get(name)).status?.conditions?.find((one) => one.type === type);
}

async function makeNamespace(client: Client): Promise<void> {
  await client.resource(namespaceType).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
}

test('gives an export an identity, and an endpoint as soon as somebody is bound', async () => {
  const provider = await suite.workspace('provider1');
  await offer(provider, 'cowboys');
  await eventually(async () =>
    expect((await exports(provider).get('cowboys')).status).toMatchObject({
      identityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      conditions: [{ type: 'IdentityValid', status: 'True' }],
    }),
  );
  expect((await provider.resource(secretType).in('kcp-system').get('cowboys'))['data']).toHaveProperty('key');
  const slice = (): Promise<ApiExportEndpointSlice> => provider.resource<ApiExportEndpointSlice>(endpointSliceKind).get('cowboys');
  await eventually(async () =>
    expect((await slice()).status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ['APIExportValid', 'True'],
      ['PartitionValid', 'True'],
    ]),
  );
  expect((await slice()).status?.endpoints).toBeUndefined();
  const consumer = await suite.workspace('consumer1');
  await bindings(consumer).create(binding('cowboys', 'provider1'));
  const url = `${suite.server.url}/services/apiexport/provider1/cowboys`;
  await eventually(async () => expect((await slice()).status?.endpoints).toEqual([{ url }]));
});

test('verifies a chosen identity once its secret exists', async () => {
  const provider = await suite.workspace('provider2');
  await offer(provider, 'cowboys', { identity: { secretRef: { namespace: 'default', name: 'mine' } } });
  const identity = async () => (await exports(provider).get('cowboys')).status;
  await eventually(async () =>
    expect((await identity())?.conditions).toMatchObject([
      { type: 'IdentityValid', status: 'False', reason: 'IdentityVerificationFailed', message: 'secret "mine" not found' },
    ]),
  );
  await makeNamespace(provider);
  const data = { key: Buffer.from('a key').toString('base64') };
  await provider.resource(secretType).create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine', namespace: 'default' }, data });
  await eventually(async () => expect((await identity())?.conditions).toMatchObject([{ status: 'True' }]));
});

test('serves bound kinds, follows the export, and keeps serving without the provider', async () => {
  const provider = await suite.workspace('provider3');
  const consumer = await suite.workspace('consumer3');
  await offer(provider, 'cowboys');
  await bindings(consumer).create(binding('cowboys', 'provider3'));
  await isBound(consumer, 'cowboys');
  await makeNamespace(consumer);
  const cowboys = consumer.resource(cowboyType).in('default');
  await cowboys.create(cowboy('billy'));
  const before = (await bindings(consumer).get('cowboys')).status!.boundResources![0]!;
  await provider.resource<ApiResourceSchema>(apiResourceSchemaKind).create(cowboySchema('tomorrow'));
  await exports(provider).patch('cowboys', {
    type: 'json',
    patch: [{ op: 'replace', path: '/spec/resources/0/schema', value: 'tomorrow.cowboys.wildwest.dev' }],
  });
  await eventually(async () => {
    const [after] = (await bindings(consumer).get('cowboys')).status!.boundResources!;
    expect(after!.schema).toMatchObject({ name: 'tomorrow.cowboys.wildwest.dev', identityHash: before.schema.identityHash });
  });
  await exports(provider).delete('cowboys');
  for (const prefix of ['today', 'tomorrow']) await provider.resource(apiResourceSchemaKind).delete(`${prefix}.cowboys.wildwest.dev`);
  await eventually(async () =>
    expect(await condition(consumer, 'cowboys', 'APIExportValid')).toMatchObject({
      status: 'False',
      reason: 'APIExportNotFound',
      message: 'APIExport provider3|cowboys not found',
    }),
  );
  expect((await cowboys.get('billy'))['spec']).toEqual({ intent: 'yeehaw' });
  expect((await bindings(consumer).get('cowboys')).status?.phase).toBe('Bound');
});

test('deletes a binding with its objects, and reports what remains', async () => {
  const provider = await suite.workspace('provider4');
  const consumer = await suite.workspace('consumer4');
  await offer(provider, 'cowboys');
  await bindings(consumer).create(binding('cowboys', 'provider4'));
  await isBound(consumer, 'cowboys');
  await makeNamespace(consumer);
  const cowboys = consumer.resource(cowboyType).in('default');
  await cowboys.create(cowboy('billy'));
  await cowboys.create(cowboy('stubborn', { finalizers: ['wildwest.dev/last-ride'] }));
  await exports(provider).delete('cowboys');
  await bindings(consumer).delete('cowboys');
  await eventually(async () =>
    expect(await condition(consumer, 'cowboys', 'BindingResourceDeleteSuccess')).toMatchObject({
      status: 'False',
      reason: 'SomeFinalizersRemain',
      message: 'Some content in the workspace has finalizers remaining: wildwest.dev/last-ride in 1 resource instances',
    }),
  );
  await cowboys.patch('stubborn', { type: 'merge', patch: { metadata: { finalizers: null } } });
  await eventually(async () => expect((await bindings(consumer).list()).items.map(({ metadata }) => metadata.name)).toEqual([]));
  await expect(cowboys.list()).rejects.toMatchObject({ code: 404 });
});

test('does not bind a resource that the workspace has already, until it is gone', async () => {
  const provider = await suite.workspace('provider5');
  const consumer = await suite.workspace('consumer5');
  await offer(provider, 'cowboys');
  const { group, names, scope } = cowboySchema('x').spec!;
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
  const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'cowboys.wildwest.dev' } };
  await consumer.resource(definitionType).create({ ...crd, spec: { group, names, scope, versions } });
  await bindings(consumer).create(binding('cowboys', 'provider5'));
  const conflict = {
    status: 'False',
    reason: 'NamingConflicts',
    message: 'Unable to bind APIs because they are bound by other APIBindings or CRDs: map[cowboys.wildwest.dev:{ true}]',
  };
  await eventually(async () => expect(await condition(consumer, 'cowboys', 'InitialBindingCompleted')).toMatchObject(conflict));
  await consumer.resource(definitionType).delete('cowboys.wildwest.dev');
  await isBound(consumer, 'cowboys');
  await consumer.resource(definitionType).create({ ...crd, spec: { group, names, scope, versions } });
  const accepted = async (): Promise<object> => {
    const { conditions = [] } = (await consumer.resource(definitionType).get('cowboys.wildwest.dev'))['status'] as {
      conditions?: { type: string; status: string }[];
    };
    return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
  };
  await eventually(async () => expect(await accepted()).toEqual({ NamesAccepted: 'False', Established: 'False' }));
  expect((await consumer.resource(cowboyType).list()).items).toEqual([]);
  await bindings(consumer).delete('cowboys');
  await eventually(async () => expect(await accepted()).toEqual({ NamesAccepted: 'True', Established: 'True' }));
});

test('reports the claims of the export, and applies those that were accepted', async () => {
  const provider = await suite.workspace('provider6');
  const consumer = await suite.workspace('consumer6');
  const claim = { group: '', resource: 'configmaps', verbs: ['get'] };
  await offer(provider, 'cowboys', { permissionClaims: [claim] });
  const accepted = { selector: { matchAll: true }, state: 'Accepted' as const };
  await bindings(consumer).create(
    binding('cowboys', 'provider6', {
      permissionClaims: [
        { ...claim, ...accepted },
        { ...claim, resource: 'secrets', ...accepted },
      ],
    }),
  );
  await eventually(async () =>
    expect((await bindings(consumer).get('cowboys')).status).toMatchObject({
      exportPermissionClaims: [claim],
      appliedPermissionClaims: [{ ...claim, selector: { matchAll: true } }],
    }),
  );
  expect(await condition(consumer, 'cowboys', 'PermissionClaimsValid')).toMatchObject({
    reason: 'InvalidPermissionClaims',
    message: '1 unexpected and/or invalid permission claims (showing first 1): unexpected/invalid claim for secrets. (identity "")',
  });
});

test('does not let tenants read copies of schemas', async () => {
  const reply = await suite.server.call(`/clusters/${boundSchemasCluster}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`, {
    headers: { 'impersonate-user': 'somebody', 'impersonate-group': 'system:authenticated' },
  });
  expect(reply.code).toBe(403);
});

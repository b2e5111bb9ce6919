import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const services = '/apis/apiregistration.k8s.io/v1/apiservices';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const merge = (path: string, body: JsonObject): Promise<Reply> =>
  server.call(path, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body });
const names = async (): Promise<string[]> => (await server.call(services)).json().items!.map(({ metadata }) => metadata.name!);
const specOf = async (name: string): Promise<unknown> => (await server.call(`${services}/${name}`)).json()['spec'];
const remove = (path: string): Promise<Reply> => server.call(path, { method: 'DELETE' });

const version = (name: string, served: boolean, storage: boolean): JsonObject => ({
  name,
  served,
  storage,
  schema: { openAPIV3Schema: { type: 'object' } },
});
const definition = (plural: string, kind: string): JsonObject => ({
  metadata: { name: `${plural}.shop.example.com` },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [version('v1', true, true), version('v1alpha1', false, false)],
  },
});

describe('built-in API groups', () => {
  test('have one APIService per group and version', async () => {
    expect(await names()).toEqual([
      'v1.',
      'v1.admissionregistration.k8s.io',
      'v1.apiextensions.k8s.io',
      'v1.apps',
      'v1.authentication.k8s.io',
      'v1.authorization.k8s.io',
      'v1.autoscaling',
      'v1.batch',
      'v1.certificates.k8s.io',
      'v1.coordination.k8s.io',
      'v1.discovery.k8s.io',
      'v1.events.k8s.io',
      'v1.flowcontrol.apiserver.k8s.io',
      'v1.networking.k8s.io',
      'v1.node.k8s.io',
      'v1.policy',
      'v1.rbac.authorization.k8s.io',
      'v1.resource.k8s.io',
      'v1.scheduling.k8s.io',
      'v1.storage.k8s.io',
      'v2.autoscaling',
    ]);
  });

  test.each([
    ['v1.', { version: 'v1', groupPriorityMinimum: 18000, versionPriority: 1 }],
    ['v1.apps', { group: 'apps', version: 'v1', groupPriorityMinimum: 17800, versionPriority: 15 }],
    ['v2.autoscaling', { group: 'autoscaling', version: 'v2', groupPriorityMinimum: 17500, versionPriority: 30 }],
    ['v1.resource.k8s.io', { group: 'resource.k8s.io', version: 'v1', groupPriorityMinimum: 16200, versionPriority: 21 }],
  ])('%s has its priorities and is available', async (name, spec) => {
    const service = (await server.call(`${services}/${name}`)).json();
    expect(service.metadata.labels).toEqual({ 'kube-aggregator.kubernetes.io/automanaged': 'onstart' });
    expect(service['spec']).toEqual(spec);
    expect(service['status']).toMatchObject({
      conditions: [{ type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' }],
    });
  });

  test('get their APIServices back on restart, except those that users took over', async () => {
    const own = { metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': null } }, spec: { versionPriority: 7 } };
    await merge(`${services}/v1.apps`, { spec: { versionPriority: 3 } });
    await merge(`${services}/v1.policy`, own);
    await remove(`${services}/v1.batch`);
    await server.restart();
    expect(await specOf('v1.apps')).toMatchObject({ versionPriority: 15 });
    expect(await specOf('v1.policy')).toMatchObject({ versionPriority: 7 });
    expect(await names()).toContain('v1.batch');
  });
});

describe('a group of custom resources', () => {
  const name = 'v1.shop.example.com';
  const registered = () => vi.waitFor(async () => expect(await names()).toContain(name));

  test('has an APIService per served version while it has kinds', async () => {
    await server.call(definitions, { method: 'POST', body: definition('carts', 'Cart') });
    await server.call(definitions, { method: 'POST', body: definition('orders', 'Order') });
    await registered();
    const service: KubeObject = (await server.call(`${services}/${name}`)).json();
    expect(service.metadata.labels).toEqual({ 'kube-aggregator.kubernetes.io/automanaged': 'true' });
    expect(service['spec']).toEqual({ group: 'shop.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 });
    expect(await names()).not.toContain('v1alpha1.shop.example.com');
  });

  test('gets its APIService back when somebody deletes or changes it', async () => {
    await remove(`${services}/${name}`);
    await registered();
    await merge(`${services}/${name}`, { spec: { versionPriority: 3 } });
    await vi.waitFor(async () => expect(await specOf(name)).toMatchObject({ versionPriority: 100 }));
  });

  test('loses its APIService with its last kind', async () => {
    await remove(`${definitions}/carts.shop.example.com`);
    await vi.waitFor(async () => expect((await server.call(`${definitions}/carts.shop.example.com`)).code).toBe(404));
    expect(await names()).toContain(name);
    await remove(`${definitions}/orders.shop.example.com`);
    await vi.waitFor(async () => expect(await names()).not.toContain(name));
  });
});

test('an APIService that names a service says that requests are not forwarded', async () => {
  const spec = {
    group: 'far.example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 10,
    insecureSkipTLSVerify: true,
    service: { namespace: 'default', name: 'far' },
  };
  const made = await server.call(services, { method: 'POST', body: { metadata: { name: 'v1.far.example.com' }, spec } });
  expect(made.code).toBe(201);
  expect(made.headers['warning']).toContain('this APIService has no effect: the server forwards no requests to extension API servers');
  expect(made.json()['status']).toMatchObject({ conditions: [{ type: 'Available', status: 'False', reason: 'NotForwarded' }] });
  expect((await server.call('/apis/far.example.com/v1/things')).code).toBe(404);
});

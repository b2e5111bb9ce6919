import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

it('keeps what is counted of a daemon set when its status is written without metadata', async () => {
  const path = '/apis/apps/v1/namespaces/default/daemonsets';
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec } });
  const reply = await server.call(`${path}/d/status`, { method: 'PUT', body: { metadata: { name: 'd' }, status: { numberReady: 1 } } });
  expect(reply.json()).toMatchObject({
    metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
    status: { numberReady: 1 },
  });
});

it('labels a replication controller like its pods, also when its status is written without labels', async () => {
  const path = '/api/v1/namespaces/default/replicationcontrollers';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'r' }, spec: { template } } });
  const reply = await server.call(`${path}/r/status`, { method: 'PUT', body: { metadata: { name: 'r' }, status: { replicas: 1 } } });
  expect(reply.json().metadata.labels).toEqual({ a: 'b' });
});

it('shows what a collection had when it was deleted', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const metadata = { name: 'kept', labels: { of: 'collection' }, finalizers: ['example.com/wait'] };
  await server.call(path, { method: 'POST', body: { metadata } });
  const reply = await server.call(`${path}?labelSelector=of%3Dcollection`, { method: 'DELETE' });
  const { items } = reply.json() as unknown as { items: { metadata: { deletionTimestamp?: string } }[] };
  expect(items.map((item) => item.metadata.deletionTimestamp)).toEqual([undefined]);
  expect((await server.call(`${path}/kept`)).json().metadata.deletionTimestamp).toBeDefined();
});

it('shows nothing but the change of a service range that is not allowed', async () => {
  const path = '/apis/networking.k8s.io/v1/servicecidrs';
  await server.call(path, { method: 'POST', body: { metadata: { name: 's' }, spec: { cidrs: ['10.10.0.0/16'] } } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const reply = await server.call(`${path}/s`, { method: 'PATCH', headers, body: { spec: null } });
  expect(reply.json().message).toBe('ServiceCIDR.networking.k8s.io "s" is invalid: spec.cidrs: Invalid value: null: field is immutable');
});

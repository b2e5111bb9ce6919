import { expect, test } from 'vitest';
import { startTestServer } from '../testing/harness.ts';

test('recreates deleted objects that the system needs', async () => {
  await using server = await startTestServer();
  const service = '/api/v1/namespaces/default/services/kubernetes';
  const before = (await server.call(service)).json().metadata.uid;
  await server.call(service, { method: 'DELETE' });
  await expect.poll(async () => (await server.call(service)).json().metadata.uid).not.toBe(undefined);
  const { metadata, spec } = (await server.call(service)).json() as { metadata: { uid?: string }; spec?: unknown };
  expect(metadata.uid).not.toBe(before);
  expect(spec).toMatchObject({ clusterIP: '10.96.0.1' });
});

test('recreates system namespaces once they have been emptied', async () => {
  await using server = await startTestServer();
  const leases = '/api/v1/namespaces/kube-node-lease';
  const { metadata } = (await server.call(leases, { method: 'DELETE' })).json();
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-node-lease' }, spec: { finalizers: [] } };
  await server.call(`${leases}/finalize`, { method: 'PUT', body });
  await expect
    .poll(async () => (await server.call(leases)).json())
    .toMatchObject({ status: { phase: 'Active' }, metadata: { uid: expect.not.stringMatching(`^${metadata.uid}$`) as string } });
});

test('leaves objects of other namespaces alone', async () => {
  await using server = await startTestServer();
  const services = '/api/v1/namespaces/kube-public/services';
  await server.call(services, { method: 'POST', body: { metadata: { name: 'kubernetes' }, spec: { ports: [{ port: 1 }] } } });
  await server.call(`${services}/kubernetes`, { method: 'DELETE' });
  await server.call('/api/v1/namespaces/default/services/kubernetes', { method: 'DELETE' });
  await expect.poll(async () => (await server.call('/api/v1/namespaces/default/services/kubernetes')).code).toBe(200);
  expect((await server.call(`${services}/kubernetes`)).code).toBe(404);
});

import { expect, test } from 'vitest';
import { createWorkspace, startTestServer } from '../../testing/harness.ts';

test('a Kubernetes kind that a workspace defines itself supports strategic merge patches', async () => {
  await using server = await startTestServer();
  await createWorkspace(server, 'aaaa');
  const call = (path: string, body: object, headers: Record<string, string> = {}, method = 'POST') =>
    server.call(`/clusters/aaaa${path}`, { method, body, headers });
  const object = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const spec = {
    group: 'apps',
    scope: 'Cluster',
    names: { plural: 'deployments', kind: 'Deployment' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { ...object, properties: { spec: object } } } }],
  };
  const annotations = { 'api-approved.kubernetes.io': 'unapproved' };
  await call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { metadata: { name: 'deployments.apps', annotations }, spec });
  const path = '/apis/apps/v1/deployments';
  const container = (name: string, image: string) => ({ spec: { template: { spec: { containers: [{ name, image }] } } } });
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, ...container('a', '1') };
  await expect.poll(async () => (await call(path, deployment)).code).toBe(201);
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
  const reply = await call(`${path}/d`, container('b', '2'), strategic, 'PATCH');
  expect(reply.json()['spec']).toEqual({
    template: {
      spec: {
        containers: [
          { name: 'b', image: '2' },
          { name: 'a', image: '1' },
        ],
      },
    },
  });
});

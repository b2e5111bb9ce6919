import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

it('keeps the template generation of a daemon set when its status is written without metadata', async () => {
  const path = '/apis/apps/v1/namespaces/default/daemonsets';
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec } });
  const reply = await server.call(`${path}/d/status`, { method: 'PUT', body: { metadata: { name: 'd' }, status: { numberReady: 1 } } });
  expect(reply.json()).toMatchObject({
    metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
    status: { numberReady: 1 },
  });
});

it('labels a replication controller like its pods, even when its status is written without labels', async () => {
  const path = '/api/v1/namespaces/default/replicationcontrollers';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'r' }, spec: { template } } });
  const reply = await server.call(`${path}/r/status`, { method: 'PUT', body: { metadata: { name: 'r' }, status: { replicas: 1 } } });
  expect(reply.json().metadata.labels).toEqual({ a: 'b' });
});

it('returns the items of a deleted collection as they were before', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const metadata = { name: 'kept', labels: { of: 'collection' }, finalizers: ['example.com/wait'] };
  await server.call(path, { method: 'POST', body: { metadata } });
  const reply = await server.call(`${path}?labelSelector=of%3Dcollection`, { method: 'DELETE' });
  const { items } = reply.json() as unknown as { items: { metadata: { deletionTimestamp?: string } }[] };
  expect(items.map((item) => item.metadata.deletionTimestamp)).toEqual([undefined]);
  expect((await server.call(`${path}/kept`)).json().metadata.deletionTimestamp).toBeDefined();
});

it('reports only the forbidden change of a service CIDR', async () => {
  const path = '/apis/networking.k8s.io/v1/servicecidrs';
  await server.call(path, { method: 'POST', body: { metadata: { name: 's' }, spec: { cidrs: ['10.10.0.0/16'] } } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const reply = await server.call(`${path}/s`, { method: 'PATCH', headers, body: { spec: null } });
  expect(reply.json().message).toBe('ServiceCIDR.networking.k8s.io "s" is invalid: spec.cidrs: Invalid value: null: field is immutable');
});

const statusOf = async (path: string, status: object): Promise<string> => {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const reply = await server.call(`${path}/status`, { method: 'PATCH', headers, body: { status } });
  return reply.json().message ?? String(reply.code);
};

it('accepts load balancer addresses only for services of that type', async () => {
  const path = '/api/v1/namespaces/default/services';
  for (const type of ['ClusterIP', 'LoadBalancer'])
    await server.call(path, { method: 'POST', body: { metadata: { name: type.toLowerCase() }, spec: { type, ports: [{ port: 80 }] } } });
  const status = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } };
  expect(await statusOf(`${path}/clusterip`, status)).toContain("may only be used when `spec.type` is 'LoadBalancer'");
  expect(await statusOf(`${path}/loadbalancer`, status)).toBe('200');
  expect(await statusOf(`${path}/loadbalancer`, { loadBalancer: { ingress: [{ ip: 'x', ipMode: 'VIP' }] } })).toContain(
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address',
  );
});

it('never decrements the collision count', async () => {
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'c' }, spec } });
  expect(await statusOf(`${path}/c`, { collisionCount: 2 })).toBe('200');
  expect(await statusOf(`${path}/c`, { collisionCount: 1 })).toContain('status.collisionCount: Invalid value: 1: cannot be decremented');
});

it('requires a reason in conditions of disruption budgets', async () => {
  const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'b' }, spec: { maxUnavailable: 1 } } });
  expect(
    await statusOf(`${path}/b`, { conditions: [{ type: 'X', status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z' }] }),
  ).toContain('status.conditions[0].reason: Required value');
});

it('marks table rows of completed pods', async () => {
  const path = '/api/v1/namespaces/default/pods';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'p' }, spec: template.spec } });
  expect(await statusOf(`${path}/p`, { phase: 'Succeeded' })).toBe('200');
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const { rows } = (await server.call(`${path}/p`, { headers })).json() as unknown as { rows: { conditions: unknown }[] };
  expect(rows[0]!.conditions).toEqual([
    { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  ]);
});

it.each([
  ['services', { ports: [{ port: 80 }], ipFamilyPolicy: '' }, 'spec.ipFamilyPolicy: Unsupported value: ""'],
  ['services', { ports: [{ port: 80 }], internalTrafficPolicy: '' }, 'spec.internalTrafficPolicy: Unsupported value: ""'],
])('rejects an empty string in an optional enum of %s: %j', async (resource, spec, error) => {
  const reply = await server.call(`/api/v1/namespaces/default/${resource}`, { method: 'POST', body: { metadata: { name: 'e' }, spec } });
  expect(reply.json().message).toContain(error);
});

it('does not allow turning a pod into a mirror pod, or adding a scheduling gate', async () => {
  const path = '/api/v1/namespaces/default/pods';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'm' }, spec: template.spec } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } }, spec: { schedulingGates: [{ name: 'g' }] } };
  const { message } = (await server.call(`${path}/m`, { method: 'PATCH', headers, body })).json();
  expect(message).toContain('metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation');
  expect(message).toContain("spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'");
});

it("records no ownership of fields that a pod's status cannot change", async () => {
  const path = '/api/v1/namespaces/default/pods';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'o' }, spec: template.spec } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u' }];
  const body = { metadata: { ownerReferences }, status: { phase: 'Running' } };
  const { metadata } = (await server.call(`${path}/o/status`, { method: 'PATCH', headers, body })).json();
  expect(metadata.ownerReferences).toBeUndefined();
  expect(JSON.stringify(metadata.managedFields)).not.toContain('ownerReferences');
});

it('returns a deleted service account', async () => {
  const path = '/api/v1/namespaces/default/serviceaccounts';
  await server.call(path, { method: 'POST', body: { metadata: { name: 's' } } });
  expect((await server.call(`${path}/s`, { method: 'DELETE' })).json()).toMatchObject({ kind: 'ServiceAccount', metadata: { name: 's' } });
});

it('keeps the metrics of a v1 autoscaler, even in a dry run', async () => {
  const path = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
  const spec = { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'h' }, spec } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { status: { currentCPUUtilizationPercentage: 5 } };
  for (const query of ['?dryRun=All', '']) {
    const reply = await server.call(`${path}/h/status${query}`, { method: 'PATCH', headers, body });
    expect(reply.json()).toMatchObject({
      metadata: {
        annotations: { 'autoscaling.alpha.kubernetes.io/current-metrics': expect.stringContaining('"currentAverageUtilization":5') },
      },
      status: { currentCPUUtilizationPercentage: 5 },
    });
  }
});

import { expect, test } from 'vitest';
import { createWorkspace, type Reply, startTestServer } from '../testing/harness.ts';

const tokens = 'bob-token,bob,1';
const configMaps = '/clusters/bbbb/api/v1/namespaces/default/configmaps';

test('a workspace holds no more objects than its limit, and cannot raise the limit itself', async () => {
  await using server = await startTestServer({ tokens, workspaceObjectLimit: 20 });
  const as = (path: string, method: string, body?: object): Promise<Reply> =>
    server.call(path, {
      method,
      body,
      anonymous: true,
      headers: { authorization: 'Bearer bob-token', ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }) },
    });
  await createWorkspace(server, 'bbbb');
  await server.call('/clusters/bbbb/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'default' } } });
  await server.call('/clusters/bbbb/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: {
      metadata: { name: 'owner' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'bob' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    },
  });
  const made = await Promise.all(Array.from({ length: 30 }, (_, index) => as(configMaps, 'POST', { metadata: { name: `c${index}` } })));
  const refused = made.filter(({ code }) => code === 403);
  expect(made.filter(({ code }) => code === 201).length + refused.length).toBe(30);
  expect(refused[0]!.json().message).toContain('the workspace holds 20 objects and its limit is 20; delete some');
  // Exactly as many as fit are admitted, also when they arrive at the same time.
  await as(`${configMaps}/c${made.findIndex(({ code }) => code === 201)}`, 'DELETE');
  expect((await as(configMaps, 'POST', { metadata: { name: 'fits' } })).code).toBe(201);
  expect((await as(configMaps, 'POST', { metadata: { name: 'does-not' } })).code).toBe(403);
  // Reviews are not stored.
  const reviews = ['authentication.k8s.io/v1/selfsubjectreviews', 'authorization.k8s.io/v1/selfsubjectaccessreviews'];
  for (const review of reviews) {
    const body = { spec: { resourceAttributes: { verb: 'get', resource: 'configmaps' } } };
    expect((await as(`/clusters/bbbb/apis/${review}`, 'POST', review.includes('access') ? body : {})).code).toBe(201);
  }

  const own = '/clusters/bbbb/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';
  const more = { metadata: { annotations: { 'core.kcp.io/max-total-objects': '1000' } } };
  expect((await as(own, 'PATCH', more)).json().message).toContain('can only be changed by the platform');
  await server.call(own, { method: 'PATCH', body: more, headers: { 'content-type': 'application/merge-patch+json' } });
  expect((await as(configMaps, 'POST', { metadata: { name: 'one-more' } })).code).toBe(201);
});

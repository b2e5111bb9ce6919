import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, TestWebhook } from '../../admission/webhooks/testing.ts';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
let webhook: TestWebhook;
let release: () => void;
let released: Promise<void>;

beforeAll(async () => {
  server = await startTestServer();
  webhook = await TestWebhook.start((): Answer => ({ response: { allowed: true }, after: released }));
});
afterAll(async () => {
  await webhook[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const post = (path: string, body: object): Promise<Reply> => server.call(path, { method: 'POST', body });
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } };

/** A namespace in which whoever creates a ConfigMap waits for the webhook. */
async function slowNamespace(at: string, name: string): Promise<string> {
  ({ promise: released, resolve: release } = Promise.withResolvers<void>());
  await post(`${at}/api/v1/namespaces`, { metadata: { name } });
  const hook = {
    name: 'slow.example.com',
    clientConfig: webhook.at(),
    rules: [
      {
        operations: ['CREATE'],
        apiGroups: ['', 'rbac.authorization.k8s.io'],
        apiVersions: ['v1'],
        resources: ['configmaps', 'clusterroles'],
      },
    ],
    ...(at === '' && { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }),
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 30,
  };
  const path = `${at}/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations`;
  expect((await post(path, { metadata: { name }, webhooks: [hook] })).code).toBe(201);
  return `${at}/api/v1/namespaces/${name}/configmaps`;
}

/** Creates an object, and does something while the webhook is asked about it. */
async function createWhile(path: string, meanwhile: () => Promise<unknown>, object: object = configMap): Promise<Reply> {
  const asked = webhook.questions.length;
  const reply = post(path, object);
  await vi.waitFor(() => expect(webhook.questions.length).toBeGreaterThan(asked), 20_000);
  await meanwhile();
  release();
  return reply;
}

describe('what waited for a webhook', () => {
  test('does not come into a workspace that is gone', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'late' }, rules: [] };
    for (const [id, path, object, missing] of [
      ['doomed', '/api/v1/namespaces/default/configmaps', configMap, 'namespaces "default"'],
      ['lost', roles, role, 'logicalclusters.core.kcp.io "lost"'],
    ] as const) {
      await createWorkspace(server, id);
      await slowNamespace(`/clusters/${id}`, 'default');
      const purge = async (): Promise<void> => {
        const purged = await server.call(`/capstan/workspaces/${id}/content`, { method: 'DELETE' });
        expect(purged.json()).toMatchObject({ gone: true });
      };
      const reply = await createWhile(`/clusters/${id}${path}`, purge, object);
      expect([reply.code, reply.json().message]).toEqual([404, `${missing} not found`]);
      for (const kind of ['/api/v1/configmaps', roles]) expect((await server.call(`/clusters/${id}${kind}`)).json().items).toEqual([]);
    }
  });

  test('does not come into a namespace that is gone, or going', async () => {
    const path = await slowNamespace('', 'brief');
    const remove = (): Promise<Reply> => server.call('/api/v1/namespaces/brief', { method: 'DELETE' });
    const going = await createWhile(path, remove);
    expect([going.code, going.json().message]).toEqual([
      403,
      'configmaps "late" is forbidden: unable to create new content in namespace brief because it is being terminated',
    ]);
    const another = await slowNamespace('', 'briefer');
    const gone = await createWhile(another, async () => {
      const namespace = (await server.call('/api/v1/namespaces/briefer', { method: 'DELETE' })).json();
      const body = { ...namespace, spec: { finalizers: [] } };
      expect((await server.call('/api/v1/namespaces/briefer/finalize', { method: 'PUT', body })).code).toBe(200);
    });
    expect([gone.code, gone.json().message]).toEqual([404, 'namespaces "briefer" not found']);
  });

  test('comes in though the namespace was changed meanwhile', async () => {
    const path = await slowNamespace('', 'busy');
    const reply = await createWhile(path, () =>
      server.call('/api/v1/namespaces/busy', {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { labels: { team: 'red' } } },
      }),
    );
    expect(reply.code).toBe(201);
  });
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';
import { optionalPlugins } from './workload-plugins.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ disabledPlugins: ['ServiceAccount', 'DefaultTolerationSeconds'] });
});

afterAll(() => server[Symbol.asyncDispose]());

test('pods are left as they came by plugins that were turned off, and by those alone', async () => {
  await server.call('/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: { metadata: { name: 'default' } } });
  const made = await server.call('/api/v1/namespaces/default/pods?dryRun=All', {
    method: 'POST',
    body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  });
  const spec = made.json()['spec'];
  expect(spec).not.toHaveProperty('serviceAccountName');
  expect(spec).not.toHaveProperty('volumes');
  expect(spec).not.toHaveProperty('tolerations');
  expect(spec).toMatchObject({ priority: 0 });
});

test('what keeps the server whole cannot be turned off', () => {
  expect([...optionalPlugins]).not.toContain('NamespaceLifecycle');
  expect([...optionalPlugins]).toContain('ServiceAccount');
});

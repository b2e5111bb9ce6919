import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';
import { optionalPlugins } from './workload-plugins.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ disabledPlugins: ['ServiceAccount', 'DefaultTolerationSeconds'] });
});

afterAll(() => server[Symbol.asyncDispose]());

test('disabled plugins do not change pods, and all others do', async () => {
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

test('essential plugins cannot be disabled', () => {
  expect([...optionalPlugins]).not.toContain('NamespaceLifecycle');
  expect([...optionalPlugins]).toContain('ServiceAccount');
});

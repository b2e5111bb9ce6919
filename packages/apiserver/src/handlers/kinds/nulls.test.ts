import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test.each([
  ['configmaps', 'binaryData'],
  ['secrets', 'data'],
])('decodes null bytes as empty in %s', async (resource, field) => {
  const body = { metadata: { name: 'nulls' }, [field]: { z: null } };
  const reply = await server.call(`/api/v1/namespaces/default/${resource}`, { method: 'POST', body });
  expect([reply.code, reply.json()[field]]).toEqual([201, { z: '' }]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function causesOf(path: string, body: object): Promise<number> {
  const made = await server.call(path, { method: 'POST', body: { ...body, metadata: { name: 'a' } } });
  expect(made.code).toBe(201);
  const wrong = { ...body, metadata: { name: 'a', labels: { 'Bad Key!': '' } } };
  const refused = await server.call(`${path}/a`, { method: 'PUT', body: wrong });
  expect(refused.code).toBe(422);
  return (refused.json() as unknown as { details: { causes: unknown[] } }).details.causes.length;
}

test.each([
  ['/api/v1/namespaces/default/configmaps', {}, 4],
  ['/api/v1/namespaces/default/serviceaccounts', {}, 4],
  ['/apis/scheduling.k8s.io/v1/priorityclasses', { value: 1 }, 3],
  ['/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', { rules: [] }, 5],
])('repeats errors in %s as often as Kubernetes does', async (path, body, times) => {
  expect(await causesOf(path, body)).toBe(times);
});

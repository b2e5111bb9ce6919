import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function causesOf(spec: JsonObject): Promise<unknown> {
  const names = { plural: 'as', kind: 'A' };
  const body = { metadata: { name: 'as.x.example.com' }, spec: { group: 'x.example.com', scope: 'Namespaced', names, ...spec } };
  const reply = await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body });
  const refused: KubeObject & { details?: { causes: { field: string; message: string }[] } } = reply.json();
  return refused.details?.causes.filter(({ field }) => field === 'spec.versions').map(({ message }) => message);
}

test('messages show missing versions and an empty list of them as they were sent', async () => {
  const why = 'must have exactly one version marked as storage version';
  expect(await causesOf({})).toEqual([`Invalid value: null: ${why}`]);
  expect(await causesOf({ versions: [] })).toEqual([`Invalid value: []: ${why}`]);
});

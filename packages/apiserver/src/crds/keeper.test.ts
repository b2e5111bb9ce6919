import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';
import { definition, definitionsPath, merge, thing, version } from './testing/definitions.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it('deletes the same definition in two workspaces independently, each when its own objects are deleted', async () => {
  const body = definition('twice.example', { versions: [version('v1', {})], spec: { scope: 'Cluster' } });
  const things = (cluster: string): string => `/clusters/${cluster}/apis/twice.example/v1/things`;
  const definitions = (cluster: string): string => `/clusters/${cluster}${definitionsPath}`;
  const codeOf = async (path: string): Promise<number> => (await server.call(path)).code;
  for (const cluster of ['aaaa', 'bbbb']) {
    await createWorkspace(server, cluster);
    await server.call(definitions(cluster), { method: 'POST', body });
    await vi.waitFor(async () => expect(await codeOf(things(cluster))).toBe(200), 5000);
    const held = thing('twice.example', 'held', {});
    held.metadata.finalizers = ['example.com/wait'];
    expect((await server.call(things(cluster), { method: 'POST', body: held })).code).toBe(201);
    await server.call(`${definitions(cluster)}/things.twice.example`, { method: 'DELETE' });
    await vi.waitFor(async () => {
      expect((await server.call(`${things(cluster)}/held`)).json().metadata.deletionTimestamp).toBeDefined();
    }, 5000);
  }
  for (const cluster of ['aaaa', 'bbbb']) {
    await server.call(`${things(cluster)}/held`, { method: 'PATCH', body: { metadata: { finalizers: null } }, headers: merge });
    await vi.waitFor(async () => expect(await codeOf(`${definitions(cluster)}/things.twice.example`)).toBe(404), 5000);
  }
});

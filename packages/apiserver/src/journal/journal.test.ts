import { createInterface } from 'node:readline';
import { beforeAll, expect, test } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';

interface Line {
  readonly type: string;
  readonly cluster?: string;
  readonly resource?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name: string; readonly uid: string; readonly labels?: object };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens: 'bob-token,bob,1,"system:kcp:admin"' });
  await createWorkspace(server, 'aaaa');
  return () => server[Symbol.asyncDispose]();
});

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const role = (name: string): object => ({ metadata: { name, labels: { a: 'b' }, finalizers: ['example.com/x'] }, rules: [] });

test('sends all objects of all workspaces, then SYNCED, then every change', async () => {
  await server.call(`/clusters/aaaa${roles}`, { method: 'POST', body: role('before') });
  const stream = await server.open('/capstan/journal');
  const told: Line[] = [];
  for await (const text of createInterface({ input: stream })) {
    if (text === '') continue;
    const line = JSON.parse(text) as Line;
    told.push(line);
    if (line.type === 'SYNCED') await server.call(`/clusters/aaaa${roles}`, { method: 'POST', body: role('after') });
    if (line.metadata?.name === 'after') break;
  }
  stream.destroy();
  const synced = told.findIndex(({ type }) => type === 'SYNCED');
  const named = (lines: readonly Line[]): string[] =>
    lines.map(({ cluster, resource, metadata }) => `${cluster}/${resource}/${metadata?.name}`);
  expect(named(told.slice(0, synced))).toEqual(expect.arrayContaining(['aaaa/clusterroles/before', 'root/namespaces/default']));
  expect(named(told.slice(synced + 1))).toContain('aaaa/clusterroles/after');
  const { kind, metadata } = told.find((line) => line.metadata?.name === 'before')!;
  expect([kind, Object.keys(metadata!)]).toEqual(['ClusterRole', ['name', 'uid', 'resourceVersion', 'finalizers']]);
});

test('is only open to the platform', async () => {
  const asked = await server.call('/capstan/journal', { anonymous: true });
  expect(asked.code).toBe(403);
  const inWorkspace = await server.call('/clusters/aaaa/capstan/journal', { anonymous: true });
  expect(inWorkspace.code).toBe(403);
});

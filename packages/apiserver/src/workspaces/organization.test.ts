import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens: 'bob-token,bob,1', workspacesPerOrganization: 3 });
  const annotations = {
    'internal.tenancy.kcp.io/type': 'root:universal',
    'kcp.io/path': 'root:bbbb',
    'experimental.tenancy.kcp.io/owner': JSON.stringify({ username: 'bob' }),
  };
  const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster', annotations } };
  expect((await server.call('/clusters/bbbb/apis/core.kcp.io/v1alpha1/logicalclusters', { method: 'POST', body })).code).toBe(201);
});
afterAll(() => server[Symbol.asyncDispose]());

const workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace' };

const make = (name: string): Promise<Reply> =>
  server.call('/clusters/bbbb/apis/tenancy.kcp.io/v1alpha1/workspaces', {
    method: 'POST',
    anonymous: true,
    headers: { authorization: 'Bearer bob-token' },
    body: { ...workspace, metadata: { name } },
  });

test('an organization has no more workspaces than its limit, and the platform can still make some', async () => {
  const made: number[] = [];
  for (let index = 0; index < 3; index++) made.push((await make(`child-${index}`)).code);
  expect(made).toEqual([201, 201, 201]);
  const refused = await make('one-more');
  expect([refused.code, refused.json().message]).toEqual([
    403,
    expect.stringContaining(
      'the organization has 3 workspaces and its limit is 3; delete some, or ask the platform operator for a higher limit',
    ),
  ]);
  const body = { ...workspace, metadata: { name: 'by-the-platform' } };
  expect((await server.call('/clusters/bbbb/apis/tenancy.kcp.io/v1alpha1/workspaces', { method: 'POST', body })).code).toBe(201);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test.each([
  ['beside others', { own: 'yes' }],
  ['alone', {}],
])('the workspace that is shown in an object, %s, belongs to nobody, whoever sends it back', async (_, own) => {
  const maps = '/clusters/root/api/v1/namespaces/default/configmaps';
  const annotations = { 'kcp.io/cluster': 'elsewhere', ...own };
  const made = (await server.call(maps, { method: 'POST', body: { metadata: { generateName: 'm-', annotations } } })).json();
  const shown = { ...annotations, 'kcp.io/cluster': 'root' };
  expect(made.metadata.annotations).toEqual(shown);
  const same = (await server.call(`${maps}/${made.metadata.name}`, { method: 'PUT', body: made })).json();
  expect(same.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  const { metadata } = (await server.call(`${maps}/${made.metadata.name}`, { method: 'PUT', body: { ...made, data: { a: '1' } } })).json();
  expect(metadata.annotations).toEqual(shown);
  expect(JSON.stringify(metadata.managedFields)).not.toContain('kcp.io');
  expect(JSON.stringify(metadata.managedFields).includes('f:annotations')).toBe(Object.keys(own).length > 0);
});

test('owners that are named twice count once, and clients are told', async () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1', controller: true };
  const reply = await server.call('/api/v1/namespaces/default/configmaps', {
    method: 'POST',
    body: { metadata: { name: 'owned', ownerReferences: [owner, owner] } },
  });
  expect(reply.json().metadata.ownerReferences).toEqual([owner]);
  expect(reply.headers['warning']).toContain('duplicate UID(s) observed: u-1');
});

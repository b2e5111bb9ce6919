import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { uniteOwners } from './metadata.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test.each([
  ['beside others', { own: 'yes' }],
  ['alone', {}],
])('nobody manages the workspace annotation (%s), even if a client sends it back', async (_, own) => {
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

test('merges duplicate owner references and warns the client', async () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1', controller: true };
  const reply = await server.call('/api/v1/namespaces/default/configmaps', {
    method: 'POST',
    body: { metadata: { name: 'owned', ownerReferences: [owner, owner] } },
  });
  expect(reply.json().metadata.ownerReferences).toEqual([owner]);
  expect(reply.headers['warning']).toContain('duplicate UID(s) observed: u-1');
});

test('merges duplicate owner references however many there are', () => {
  let reads = 0;
  const get = (target: object, key: string): unknown => {
    reads++;
    return Reflect.get(target, key);
  };
  const owner = (index: number) => new Proxy({ apiVersion: 'v1', kind: 'ConfigMap', name: `n${index}`, uid: 'same' }, { get });
  const ownerReferences = [...Array.from({ length: 20_000 }, (_, index) => owner(index)), owner(7), { ...owner(7), controller: true }];
  reads = 0;
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { ownerReferences } } as KubeObject;
  const warnings: string[] = [];
  uniteOwners(object, (warning) => void warnings.push(warning));
  expect(reads).toBeLessThan(10 * ownerReferences.length);
  expect(object.metadata.ownerReferences!.length).toBe(20_001);
  expect(warnings).toEqual([expect.stringMatching(/duplicate UID\(s\) observed: same$/)]);
});

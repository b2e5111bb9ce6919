import { asClusterId, type ClusterId } from '@capstan/api';
import { describe, expect, it, test } from 'vitest';
import { StoredSizes } from '../cache/stored-sizes.ts';
import type { AdmissionRequest } from '../registry/admission.ts';
import { createWorkspace, type Reply, startTestServer } from '../testing/harness.ts';
import { storedLimit } from './stored-limit.ts';

const tokens = 'bob-token,bob,1';
const merge = { 'content-type': 'application/merge-patch+json' };

test('a workspace stores no more than its limit, and gets room again by deleting', async () => {
  await using server = await startTestServer({ tokens, storedLimits: { perWorkspace: 300_000 } });
  const path = '/clusters/bbbb/api/v1/namespaces/default/configmaps';
  const as = (at: string, method: string, body?: object): Promise<Reply> =>
    server.call(at, {
      method,
      body,
      anonymous: true,
      headers: { authorization: 'Bearer bob-token', ...(method === 'PATCH' && merge) },
    });
  await createWorkspace(server, 'bbbb');
  await server.call('/clusters/bbbb/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'default' } } });
  await server.call('/clusters/bbbb/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: {
      metadata: { name: 'owner' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'bob' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    },
  });
  const bot = { metadata: { name: 'bot' } };
  await server.call('/clusters/bbbb/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: bot });
  const make = (name: string): Promise<Reply> => as(path, 'POST', { metadata: { name }, data: { a: 'x'.repeat(100_000) } });
  for (const name of ['a', 'b', 'c']) expect((await make(name)).code).toBe(201);
  const refused = await make('d');
  expect([refused.code, refused.json().message]).toEqual([
    403,
    expect.stringMatching(/the objects of the workspace have 0\.3 MiB and the limit is 0\.3 MiB; delete some/) as string,
  ]);
  expect((await as(`${path}/a`, 'PATCH', { data: { b: 'longer' } })).code).toBe(403);
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } };
  expect((await as('/clusters/bbbb/api/v1/namespaces/default/serviceaccounts/bot/token', 'POST', token)).code).toBe(201);
  expect((await as(`${path}/a`, 'PATCH', { data: { a: 'shorter' } })).code).toBe(200);
  expect((await make('d')).code).toBe(201);
  expect((await make('e')).code).toBe(403);
  expect((await as(`${path}/b`, 'DELETE')).code).toBe(200);
  expect((await make('e')).code).toBe(201);
  // The operator may always write.
  const operators = { metadata: { name: 'operators' }, data: { a: 'x'.repeat(100_000) } };
  expect((await server.call(path, { method: 'POST', body: operators })).code).toBe(201);
});

describe('the limit of an organization', () => {
  /** Workspaces `a1`, `a2`… belong to the organization `a`. */
  function stage(perOrganization: number) {
    const sizes = new StoredSizes();
    let counts = 0;
    const of = (cluster: string): string => {
      counts++;
      return cluster.slice(0, 1);
    };
    let now = 0;
    const plugin = storedLimit({ sizes, organizations: { of }, limits: { perOrganization } });
    const request = (cluster: string): AdmissionRequest =>
      ({
        operation: 'CREATE',
        subresource: '',
        name: 'x',
        object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'x' } },
        resource: { group: '', resource: 'configmaps' },
        context: { cluster: asClusterId(cluster), user: { name: 'bob', groups: [] }, now: () => new Date(now) },
      }) as unknown as AdmissionRequest;
    return {
      write: (cluster: ClusterId | string, characters: number): void => {
        void plugin.validate!(request(cluster));
        sizes.change(`${cluster}/x/y`, characters);
      },
      remove: (cluster: string, characters: number): void => sizes.change(`${cluster}/x/y`, -characters),
      wait: (milliseconds: number): void => void (now += milliseconds),
      counts: () => counts,
    };
  }

  it('counts all of its workspaces, and nothing of others', () => {
    const { write, remove, wait } = stage(20 << 20);
    for (let index = 0; index < 20; index++) write(`a${index}`, 1 << 20);
    expect(() => write('a99', 1)).toThrow('the objects of the organization have 20 MiB and the limit is 20 MiB');
    expect(() => write('b1', 30 << 20)).not.toThrow();
    remove('a3', 1 << 20);
    wait(1_000);
    expect(() => write('a99', 1)).not.toThrow();
  });

  it('is not counted for each write', () => {
    const { write, counts } = stage(1 << 30);
    for (let index = 0; index < 100; index++) write(`b${index}`, 1_000);
    const before = counts();
    for (let index = 0; index < 10_000; index++) write('a1', 100);
    // Once for each write to know the organization, and once for each workspace.
    expect(counts() - before).toBeLessThan(10_000 + 200);
  });
});

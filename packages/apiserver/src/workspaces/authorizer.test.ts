import { readFile } from 'node:fs/promises';
import { asClusterId } from '@capstan/api';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { effectiveUsers, warrantsExtra } from '../authz/effective-users.ts';
import { type Call, createWorkspace, type Reply, startTestServer, type TestServer } from '../testing/harness.ts';
import { bind as bindApi, share } from './apis/testing.ts';
import { scopedTo } from './impersonation.ts';

const tokens = ['alice-token,alice,1', 'bob-token,bob,2,"team"', 'owner-token,owner,3,"system:kcp:admin"'].join('\n');
const configMaps = '/api/v1/namespaces/default/configmaps';
const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens });
  for (const id of ['aaaa', 'bbbb']) {
    await createWorkspace(server, id);
    await server.call(`/clusters/${id}/api/v1/namespaces`, { method: 'POST', body: { metadata: { name: 'default' } } });
    await server.call(`/clusters/${id}${configMaps}`, { method: 'POST', body: { metadata: { name: 'secret-plans' }, data: { of: id } } });
  }
  await bind('aaaa', 'alice-rules', 'cluster-admin', { kind: 'User', name: 'alice' });
  return () => server[Symbol.asyncDispose]();
});

function bind(cluster: string, name: string, role: string, subject: object): Promise<Reply> {
  const body = {
    metadata: { name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  };
  return server.call(`/clusters/${cluster}${bindings}`, { method: 'POST', body });
}

const as = (who: string, path: string, { headers, ...call }: Call = {}): Promise<Reply> =>
  server.call(path, { ...call, anonymous: true, headers: { ...headers, authorization: `Bearer ${who}-token` } });

const codeOf = async (who: string, path: string, call?: Call): Promise<number> => (await as(who, path, call)).code;

describe('a workspace', () => {
  test('admits users with bindings of its own, also to roles that it does not store', async () => {
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`)).toBe(200);
    const stored = await server.call('/clusters/aaaa/apis/rbac.authorization.k8s.io/v1/clusterroles?resourceVersion=0');
    expect(stored.json().items).toEqual([]);
  });

  test('rejects everybody else, whatever rights they have elsewhere', async () => {
    expect(await codeOf('alice', `/clusters/bbbb${configMaps}`)).toBe(403);
    expect(await codeOf('bob', `/clusters/aaaa${configMaps}`)).toBe(403);
    expect(await codeOf('alice', '/api/v1/secrets')).toBe(403);
    expect((await as('bob', `/clusters/aaaa${configMaps}`)).json().message).toMatch(/access denied$/);
  });

  test('looks the same as a missing one to users without access', async () => {
    const [closed, missing] = [await as('bob', `/clusters/bbbb${configMaps}`), await as('bob', `/clusters/zzzz${configMaps}`)];
    expect([closed.code, missing.code]).toEqual([403, 403]);
  });

  test('admits only users with a role that has the verb "access"', async () => {
    await bind('bbbb', 'bob-views', 'view', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', `/clusters/bbbb${configMaps}`)).toBe(403);
    await bind('bbbb', 'bob-enters', 'system:kcp:workspace:access', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', `/clusters/bbbb${configMaps}`)).toBe(200);
    expect(await codeOf('bob', `/clusters/bbbb${configMaps}/secret-plans`, { method: 'DELETE' })).toBe(403);
  });

  test('can require groups in addition to its rules', async () => {
    await createWorkspace(server, 'cccc');
    const path = '/clusters/cccc/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.call(path, {
      method: 'PATCH',
      headers,
      body: { metadata: { annotations: { 'authorization.kcp.io/required-groups': 'other;team,more' } } },
    });
    await bind('cccc', 'bob-rules', 'cluster-admin', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', '/clusters/cccc/api/v1/configmaps')).toBe(403);
    await server.call(path, {
      method: 'PATCH',
      headers,
      body: { metadata: { annotations: { 'authorization.kcp.io/required-groups': 'team' } } },
    });
    expect(await codeOf('bob', '/clusters/cccc/api/v1/configmaps')).toBe(200);
  });

  test('admits the platform’s administrators', async () => {
    expect(await codeOf('owner', `/clusters/aaaa${configMaps}`)).toBe(200);
    expect(await codeOf('owner', '/api/v1/nodes')).toBe(200);
  });
});

describe('a revoked right', () => {
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const remove = (cluster: string, path: string) => server.call(`/clusters/${cluster}${path}`, { method: 'DELETE' });
  const merge = { 'content-type': 'application/merge-patch+json' };

  beforeAll(async () => {
    await createWorkspace(server, 'rrrr');
  });

  test('has no effect from the next request after its binding is deleted', async () => {
    await bind('rrrr', 'bob-rules', 'cluster-admin', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(200);
    await remove('rrrr', `${bindings}/bob-rules`);
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(403);
  });

  test('has no effect from the next request after its role changes', async () => {
    const enter = { nonResourceURLs: ['/'], verbs: ['access'] };
    const read = { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] };
    await server.call(`/clusters/rrrr${roles}`, { method: 'POST', body: { metadata: { name: 'readers' }, rules: [enter, read] } });
    await bind('rrrr', 'bob-reads', 'readers', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(200);
    await server.call(`/clusters/rrrr${roles}/readers`, { method: 'PATCH', headers: merge, body: { rules: [read] } });
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(403);
    await server.call(`/clusters/rrrr${roles}/readers`, { method: 'PATCH', headers: merge, body: { rules: [enter, read] } });
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(200);
    await remove('rrrr', `${roles}/readers`);
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(403);
  });

  test('has no effect in any workspace if it was granted in all of them', async () => {
    await bind('system:admin', 'bob-everywhere', 'cluster-admin', { kind: 'User', name: 'bob' });
    for (const id of ['bbbb', 'rrrr']) expect(await codeOf('bob', `/clusters/${id}${configMaps}`)).toBe(200);
    await remove('system:admin', `${bindings}/bob-everywhere`);
    expect(await codeOf('bob', `/clusters/rrrr${configMaps}`)).toBe(403);
  });

  test('has no effect from the next request after the workspace requires other groups', async () => {
    await bind('rrrr', 'alice-rules', 'cluster-admin', { kind: 'User', name: 'alice' });
    expect(await codeOf('alice', `/clusters/rrrr${configMaps}`)).toBe(200);
    await server.call('/clusters/rrrr/apis/core.kcp.io/v1alpha1/logicalclusters/cluster', {
      method: 'PATCH',
      headers: merge,
      body: { metadata: { annotations: { 'authorization.kcp.io/required-groups': 'team' } } },
    });
    expect(await codeOf('alice', `/clusters/rrrr${configMaps}`)).toBe(403);
  });
});

describe('requests across all workspaces', () => {
  test('are only for the platform', async () => {
    for (const who of ['alice', 'bob', 'owner']) expect(await codeOf(who, '/clusters/*/api/v1/configmaps')).toBe(403);
    expect((await server.call('/clusters/*/api/v1/configmaps')).json().items).toHaveLength(3);
  });
});

describe('a service account', () => {
  async function tokenIn(cluster: string): Promise<string> {
    await server.call(`/clusters/${cluster}/api/v1/namespaces/default/serviceaccounts`, {
      method: 'POST',
      body: { metadata: { name: 'robot' } },
    });
    const asked = await server.call(`/clusters/${cluster}/api/v1/namespaces/default/serviceaccounts/robot/token`, {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    return (asked.json()['status'] as { token: string }).token;
  }
  const with_ = async (token: string, path: string): Promise<number> =>
    (await server.call(path, { anonymous: true, headers: { authorization: `Bearer ${token}` } })).code;

  test('belongs to its own workspace; one of the same name elsewhere is another', async () => {
    const token = await tokenIn('aaaa');
    await tokenIn('bbbb');
    for (const id of ['aaaa', 'bbbb'])
      await bind(id, 'robot-rules', 'cluster-admin', { kind: 'ServiceAccount', apiGroup: '', namespace: 'default', name: 'robot' });
    expect(await with_(token, `/clusters/aaaa${configMaps}`)).toBe(200);
    expect(await with_(token, `/clusters/bbbb${configMaps}`)).toBe(403);
    const { items = [] } = (await server.call(configMaps, { anonymous: true, headers: { authorization: `Bearer ${token}` } })).json();
    expect(items.map((item) => item.metadata.annotations?.['kcp.io/cluster'])).toEqual(['aaaa']);
  });

  test('can get rights in another workspace under its name there', async () => {
    const token = await tokenIn('aaaa');
    await bind('bbbb', 'guest', 'cluster-admin', { kind: 'User', name: 'system:kcp:serviceaccount:aaaa:default:robot' });
    expect(await with_(token, `/clusters/bbbb${configMaps}`)).toBe(200);
  });

  test('in kube-system of a tenant’s workspace is not a platform account', async () => {
    await server.call('/clusters/aaaa/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'kube-system' } } });
    const headers = { 'impersonate-user': 'system:serviceaccount:kube-system:namespace-controller' };
    expect(await codeOf('alice', '/clusters/aaaa/api/v1/namespaces', { headers })).toBe(403);
    expect(await codeOf('alice', '/clusters/*/api/v1/namespaces', { headers })).toBe(403);
  });
});

describe('impersonation', () => {
  test.each([
    ['the superusers’ group', { 'impersonate-user': 'x', 'impersonate-group': 'system:masters' }],
    ['the admins’ group', { 'impersonate-user': 'x', 'impersonate-group': 'system:kcp:admin' }],
    ['the group that makes workspaces', { 'impersonate-user': 'x', 'impersonate-group': 'system:kcp:logical-cluster-admin' }],
    [
      'an account of the root workspace',
      {
        'impersonate-user': 'system:serviceaccount:kube-system:namespace-controller',
        'impersonate-extra-authentication.kcp.io%2fcluster-name': 'root',
      },
    ],
    [
      'an account of the root workspace by a warrant',
      {
        'impersonate-user': 'x',
        'impersonate-extra-authorization.kcp.io%2fwarrant': '{"user":"system:serviceaccount:kube-system:namespace-controller"}',
      },
    ],
    [
      'somebody with a warrant of somebody with a warrant',
      {
        'impersonate-user': 'x',
        'impersonate-extra-authorization.kcp.io%2fwarrant': JSON.stringify({
          user: 'y',
          extra: { 'authorization.kcp.io/warrant': ['{"user":"z","groups":["system:masters"]}'] },
        }),
      },
    ],
    [
      'somebody with a warrant',
      { 'impersonate-user': 'x', 'impersonate-extra-authorization.kcp.io%2fwarrant': '{"user":"y","groups":["system:kcp:admin"]}' },
    ],
  ])('by a workspace’s owner is rejected for %s', async (_who, headers) => {
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers })).toBe(403);
    expect(await codeOf('alice', `/clusters/bbbb${configMaps}`, { headers })).toBe(403);
  });

  test('by a workspace’s owner works for the users of the workspace', async () => {
    await bind('aaaa', 'carol', 'cluster-admin', { kind: 'User', name: 'carol' });
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers: { 'impersonate-user': 'carol' } })).toBe(200);
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers: { 'impersonate-user': 'dave' } })).toBe(403);
  });

  test('with a warrant for one of its users, or within scopes, is limited to the workspace', async () => {
    await bind('aaaa', 'frank', 'cluster-admin', { kind: 'User', name: 'frank' });
    const warrant = { 'impersonate-user': 'x', 'impersonate-extra-authorization.kcp.io%2fwarrant': '{"user":"frank"}' };
    const scope = (id: string) => ({ 'impersonate-user': 'frank', 'impersonate-extra-authentication.kcp.io%2fscopes': `cluster:${id}` });
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers: warrant })).toBe(200);
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers: scope('aaaa') })).toBe(200);
    expect(await codeOf('alice', `/clusters/aaaa${configMaps}`, { headers: scope('bbbb') })).toBe(403);
    expect(
      effectiveUsers(
        scopedTo(
          asClusterId('aaaa'),
          { name: 'alice', groups: [] },
          { name: 'x', groups: [], extra: { [warrantsExtra]: ['{"user":"frank"}'] } },
        ),
        'bbbb',
      ),
    ).toEqual([
      { name: 'system:anonymous', groups: ['system:authenticated', 'system:cluster:aaaa'] },
      { name: 'system:anonymous', groups: ['system:authenticated'] },
    ]);
  });

  test('ignores the headers of authenticating proxies', async () => {
    for (const headers of [
      { 'x-remote-user': 'alice', 'x-remote-group': 'system:masters' },
      { 'X-Remote-Extra-Scopes': 'x', 'x-remote-user': 'admin' },
      { 'X-Kubernetes-Cluster': 'aaaa' },
    ]) {
      expect(await codeOf('bob', `/clusters/aaaa${configMaps}`, { headers: headers as Record<string, string> })).toBe(403);
      expect((await server.call(`/clusters/aaaa${configMaps}`, { anonymous: true, headers: headers as Record<string, string> })).code).toBe(
        403,
      );
    }
  });
});

test('the audit log has the decision of every authorization step', async () => {
  await codeOf('alice', `/clusters/aaaa${configMaps}?fieldManager=audited`, { method: 'POST', body: { metadata: { name: 'a' } } });
  const lines = async (): Promise<{ requestURI: string; annotations?: Record<string, string> }[]> =>
    (await readFile(`${server.directory}/audit.log`, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const annotations = async () => (await lines()).find(({ requestURI }) => requestURI.endsWith('=audited'))?.annotations;
  await expect.poll(annotations).toMatchObject({
    'tenancy.kcp.io/workspace': 'aaaa',
    'request.auth.kcp.io/01-requiredgroups-decision': 'Allowed',
    'request.auth.kcp.io/02-content-reason': 'access to the workspace: passed',
    'request.auth.kcp.io/05-bootstrap-decision': 'Allowed',
  });
});

describe('privilege escalation', () => {
  test('by writing the status of a binding is rejected', async () => {
    const path = '/clusters/aaaa/apis/apis.kcp.io/v1alpha2/apibindings/any/status';
    const headers = { 'content-type': 'application/merge-patch+json' };
    expect(await codeOf('alice', path, { method: 'PATCH', headers, body: { status: {} } })).toBe(403);
  });

  test('by granting rights that one lacks is rejected', async () => {
    await bind('aaaa', 'erin', 'user', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', '/clusters/aaaa/api/v1/namespaces')).toBe(200);
    const body = {
      metadata: { name: 'steal' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'bob' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    };
    expect(await codeOf('bob', `/clusters/aaaa${bindings}`, { method: 'POST', body })).toBe(403);
    expect(await codeOf('alice', `/clusters/aaaa${bindings}`, { method: 'POST', body })).toBe(201);
  });
});

describe('the kinds that a workspace has bound', () => {
  const cowboys = '/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys';
  const cowboy = { apiVersion: 'wildwest.dev/v1alpha1', kind: 'Cowboy', metadata: { name: 'billy' }, spec: {} };

  test('are open to users and viewers although no role names them', async () => {
    for (const id of ['offers', 'uses']) await createWorkspace(server, id);
    await server.call('/clusters/uses/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'default' } } });
    const shared = await share(server, 'offers');
    await bindApi(server, { provider: 'offers', consumer: 'uses', shared });
    const path = `/clusters/uses${cowboys}`;
    const create = (who: string): Promise<number> => codeOf(who, path, { method: 'POST', body: cowboy });
    await bind('uses', 'bob-enters', 'system:kcp:workspace:access', { kind: 'User', name: 'bob' });
    expect([await create('bob'), await codeOf('bob', path)]).toEqual([403, 403]);
    await bind('uses', 'bob-looks', 'viewer', { kind: 'User', name: 'bob' });
    expect([await create('bob'), await codeOf('bob', path)]).toEqual([403, 200]);
    await bind('uses', 'alice-uses', 'user', { kind: 'User', name: 'alice' });
    expect([await create('alice'), await codeOf('alice', path)]).toEqual([201, 200]);
    // Only the provider writes the status.
    const status = { ...cowboy, status: { result: 'rich' } };
    expect(await codeOf('alice', `${path}/billy/status`, { method: 'PUT', body: status })).toBe(403);
    expect(await codeOf('alice', `${path}/billy/status`)).toBe(200);
    expect(await codeOf('alice', `${path}/billy`, { method: 'DELETE' })).toBe(200);
  });

  test('do not include kinds that it defines itself', async () => {
    const names = { plural: 'sheriffs', singular: 'sheriff', kind: 'Sheriff', listKind: 'SheriffList' };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const definitions = '/clusters/uses/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const spec = { group: 'law.example.com', names, scope: 'Namespaced', versions };
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'sheriffs.law.example.com' },
      spec,
    };
    await server.call(definitions, { method: 'POST', body });
    const sheriffs = '/clusters/uses/apis/law.example.com/v1/namespaces/default/sheriffs';
    await vi.waitFor(async () => expect((await server.call(sheriffs)).code).toBe(200));
    for (const path of [sheriffs, definitions, `/clusters/uses${bindings}`, '/clusters/uses/apis/topology.kcp.io/v1alpha1/partitions'])
      expect(await codeOf('alice', path)).toBe(403);
  });
});

describe('built-in roles', () => {
  test('let viewers read everything but secrets', async () => {
    await createWorkspace(server, 'dddd');
    await bind('dddd', 'bob-looks', 'viewer', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', '/clusters/dddd/api/v1/configmaps')).toBe(200);
    expect(await codeOf('bob', '/clusters/dddd/api/v1/secrets')).toBe(403);
    expect(await codeOf('bob', '/clusters/dddd/api/v1/namespaces/default', { method: 'DELETE' })).toBe(403);
  });

  test('are granted in all workspaces by the platform’s owner only', async () => {
    await createWorkspace(server, 'eeee');
    expect(await codeOf('bob', '/clusters/eeee/api/v1/configmaps')).toBe(403);
    for (const who of ['alice', 'owner']) expect(await codeOf(who, `/clusters/system:admin${bindings}`)).toBe(403);
    await bind('system:admin', 'bob-looks-everywhere', 'viewer', { kind: 'User', name: 'bob' });
    expect(await codeOf('bob', '/clusters/eeee/api/v1/configmaps')).toBe(200);
    expect(await codeOf('bob', '/clusters/eeee/api/v1/secrets')).toBe(403);
  });
});

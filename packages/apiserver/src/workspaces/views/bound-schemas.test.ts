import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Call, createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { bind, cowboys, share } from '../apis/testing.ts';

let server: TestServer;
const schemas = '/apis/apis.kcp.io/v1alpha1/apiresourceschemas';

beforeAll(async () => {
  server = await startTestServer();
  for (const id of ['first', 'second', 'consumer', 'empty', 'forger']) await createWorkspace(server, id);
  const shared = await share(server, 'first');
  await share(server, 'second');
  await bind(server, { provider: 'first', consumer: 'consumer', shared });
  await server.call(`/clusters/first${schemas}`, { method: 'POST', body: cowboys('tomorrow') });
  const rbac = '/clusters/consumer/apis/rbac.authorization.k8s.io/v1';
  const rules = [
    { apiGroups: ['apis.kcp.io'], resources: ['apibindings'], verbs: ['get'] },
    { nonResourceURLs: ['/'], verbs: ['access'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'pat' };
  const subjects = [{ kind: 'User', name: 'pat', apiGroup: 'rbac.authorization.k8s.io' }];
  await server.call(`${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name: 'pat' }, rules } });
  await server.call(`${rbac}/clusterrolebindings`, { method: 'POST', body: { metadata: { name: 'pat' }, roleRef, subjects } });
});
afterAll(() => server[Symbol.asyncDispose]());

const as = (user: string): Record<string, string> => ({ 'impersonate-user': user, 'impersonate-group': 'system:authenticated' });
const look = (path: string, call: Call = {}, user = 'pat'): Promise<Reply> => server.call(path, { ...call, headers: as(user) });
const view = (consumer: string, rest = schemas, cluster = '*'): string =>
  `/services/apiresourceschema/${consumer}/clusters/${cluster}${rest}`;
const placed = (reply: Reply): string[] =>
  reply.json().items!.map(({ metadata }) => `${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`);

describe('the schemas of bound kinds', () => {
  test('are listed with the workspace that they come from', async () => {
    expect(placed(await look(view('consumer')))).toEqual(['first/today.cowboys.wildwest.dev']);
    expect(placed(await server.call(view('empty')))).toEqual([]);
  });

  test('can be read by name', async () => {
    for (const cluster of ['*', 'consumer']) {
      const reply = await look(view('consumer', `${schemas}/today.cowboys.wildwest.dev`, cluster));
      expect(reply.json()['spec']).toMatchObject({ group: 'wildwest.dev', names: { kind: 'Cowboy' } });
    }
    for (const name of ['tomorrow.cowboys.wildwest.dev', 'none'])
      expect((await look(view('consumer', `${schemas}/${name}`))).code).toBe(404);
  });

  test('are only visible to users who may read the bindings of the workspace', async () => {
    expect((await look(view('empty'))).code).toBe(403);
    expect((await look(view('consumer'), {}, 'somebody')).code).toBe(403);
    expect((await server.call(view('nowhere'))).code).toBe(404);
    expect((await look(view('consumer', '/api/v1/secrets'))).code).toBe(404);
  });

  test('are read-only', async () => {
    const name = `${schemas}/today.cowboys.wildwest.dev`;
    const calls = [
      ['POST', schemas, cowboys('new')],
      ['PUT', name, cowboys()],
      ['DELETE', name, undefined],
    ] as const;
    for (const [method, rest, body] of calls) {
      const { code } = await look(view('consumer', rest), { method, ...(body !== undefined && { body }) });
      expect([method, code]).toEqual([method, 403]);
    }
    const { resources } = (await look(view('consumer', '/apis/apis.kcp.io/v1alpha1'))).json() as unknown as { resources: unknown };
    expect(resources).toMatchObject([{ name: 'apiresourceschemas', verbs: ['get', 'list', 'watch'] }]);
  });

  test('are hidden for a binding whose status was forged', async () => {
    const bindings = '/clusters/forger/apis/apis.kcp.io/v1alpha2/apibindings';
    const spec = { reference: { export: { path: 'first', name: 'cowboys' } } };
    const made = (await server.call(bindings, { method: 'POST', body: { metadata: { name: 'cowboys' }, spec } })).json();
    const bound = {
      group: 'wildwest.dev',
      resource: 'cowboys',
      schema: { name: 'x', UID: 'x', identityHash: 'x' },
      storageVersions: ['v1'],
    };
    const status = { apiExportClusterName: 'second', phase: 'Bound', boundResources: [bound] };
    await server.call(`${bindings}/cowboys/status`, { method: 'PUT', body: { ...made, status } });
    expect(placed(await server.call(view('forger')))).toEqual([]);
  });

  test('make watches restart when another export is bound', async () => {
    const { resourceVersion } = (await server.call(view('empty'))).json().metadata;
    const watching = server.watch(`${view('empty')}?watch=1&resourceVersion=${resourceVersion}`, 1);
    const schema = (await server.call(`/clusters/second${schemas}/today.cowboys.wildwest.dev`)).json();
    const { identityHash } = (await server.call('/clusters/second/apis/apis.kcp.io/v1alpha2/apiexports/cowboys')).json()['status'] as {
      identityHash: string;
    };
    await bind(server, { provider: 'second', consumer: 'empty', shared: { schema, identity: identityHash } });
    expect((await watching)[0]).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect(placed(await server.call(view('empty')))).toEqual(['second/today.cowboys.wildwest.dev']);
  });
});

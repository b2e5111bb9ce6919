import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { startIssuer, type TestIssuer } from '../authn/testing.ts';
import { markerFile } from '../registry/quarantine.ts';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

const tenancy = '/clusters/root/apis/tenancy.kcp.io/v1alpha1';
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

let server: TestServer;
let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await startIssuer();
  server = await startTestServer();
  const configuration = {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceAuthenticationConfiguration',
    metadata: { name: 'ours' },
    spec: {
      jwt: [
        {
          issuer: { url: issuer.url, audiences: ['capstan'], certificateAuthority: issuer.authorities },
          claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: '' } },
        },
      ],
    },
  };
  await made(`${tenancy}/workspaceauthenticationconfigurations`, configuration);
  for (const name of ['open', 'guarded']) {
    await made(`${tenancy}/workspacetypes`, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'WorkspaceType',
      metadata: { name },
      spec: name === 'guarded' ? { authenticationConfigurations: [{ name: 'ours' }] } : {},
    });
  }
  for (const [id, type] of [
    ['gggg', 'root:guarded'],
    ['oooo', 'root:open'],
  ]) {
    await made(`/clusters/${id}/apis/core.kcp.io/v1alpha1/logicalclusters`, {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': type } },
    });
    await made(`/clusters/${id}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, {
      metadata: { name: 'all' },
      subjects: [
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' },
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' },
      ],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    });
  }
  return async () => {
    await server[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
  };
});

async function made(path: string, body: object): Promise<void> {
  const { code, text } = await server.call(path, { method: 'POST', body });
  if (code !== 201) throw new Error(`${path}: ${text}`);
}

function ask(cluster: string, claims: object): Promise<Reply> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const headers = { authorization: `Bearer ${issuer.token(claims)}` };
  return server.call(`/clusters/${cluster}${whoAmI}`, { method: 'POST', anonymous: true, headers, body });
}

describe('an issuer of a workspace type', () => {
  test('authenticates users in workspaces of that type only', async () => {
    const known = await ask('gggg', { sub: 'jane', groups: ['devs'] });
    expect(known.code).toBe(201);
    expect(known.json()['status']).toMatchObject({ userInfo: { username: 'jane', groups: ['devs', 'system:authenticated'] } });
    expect((await ask('oooo', { sub: 'jane' })).code).toBe(401);
    expect(
      (await server.call('/api/v1/namespaces', { anonymous: true, headers: { authorization: `Bearer ${issuer.token()}` } })).code,
    ).toBe(401);
  });

  test('cannot grant system usernames or groups', async () => {
    expect((await ask('gggg', { sub: 'system:serviceaccount:kube-system:namespace-controller' })).code).toBe(401);
    const named = await ask('gggg', { sub: 'jane', groups: ['system:masters', 'system:kcp:admin', 'devs'] });
    expect(named.json()['status']).toMatchObject({ userInfo: { groups: ['devs', 'system:authenticated'] } });
  });

  test('accepts only tokens that it signed', async () => {
    const headers = { authorization: `Bearer ${issuer.token()}x` };
    expect((await server.call(`/clusters/gggg${whoAmI}`, { method: 'POST', anonymous: true, headers, body: {} })).code).toBe(401);
  });

  test('is not asked again after the server stopped twice while it evaluated its expressions, until it is changed', async () => {
    const path = `${tenancy}/workspaceauthenticationconfigurations/ours`;
    const { metadata } = (await server.call(path)).json();
    const name = 'WorkspaceAuthenticationConfiguration "ours"';
    const evaluated = { identity: `authentication ${metadata.uid} ${metadata.generation}`, name };
    for (let stop = 0; stop < 2; stop++)
      await server.restart(() => writeFileSync(join(server.directory, markerFile), `${JSON.stringify(evaluated)}\n`));
    expect((await ask('gggg', { sub: 'jane', groups: ['devs'] })).code).toBe(401);
    const annotations = async (): Promise<object> => (await server.call(path)).json().metadata.annotations ?? {};
    const mark = expect.stringContaining(`${name} is quarantined since`) as string;
    const soon = { timeout: 10_000 };
    await vi.waitFor(async () => expect(await annotations()).toMatchObject({ 'capstan.dev/quarantined': mark }), soon);
    expect((await ask('gggg', { sub: 'jane', groups: ['devs'] })).code).toBe(401);
    await server.call(path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op: 'add', path: '/spec/jwt/0/claimValidationRules', value: [{ expression: "claims.sub != 'joe'", message: 'not joe' }] }],
    });
    await vi.waitFor(async () => expect((await ask('gggg', { sub: 'jane' })).code).toBe(201), soon);
    expect((await ask('gggg', { sub: 'joe' })).code).toBe(401);
    await vi.waitFor(async () => expect(await annotations()).not.toHaveProperty(['capstan.dev/quarantined']), soon);
  });
});

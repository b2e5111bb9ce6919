import { asClusterId } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportLabelValue } from '../../bindings/names.ts';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { apiBinding, apiExport, cowboys } from './testing.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const id of ['provider', 'consumer']) await createWorkspace(server, id);
});
afterAll(() => server[Symbol.asyncDispose]());

const as = (user: string): Record<string, string> => ({ 'impersonate-user': user });

function create(cluster: string, object: KubeObject, headers: Record<string, string> = {}): Promise<Reply> {
  const plural = `${object.kind.toLowerCase()}s`;
  const group = object.apiVersion.includes('/') ? 'apis' : 'api';
  return server.call(`/clusters/${cluster}/${group}/${object.apiVersion}/${plural}`, { method: 'POST', body: object, headers });
}

async function grant(cluster: string, user: string, rules: readonly object[]): Promise<void> {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
  await create(cluster, { ...rbac, kind: 'ClusterRole', metadata: { name: user }, rules });
  await create(cluster, {
    ...rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: user },
    roleRef,
    subjects: [{ kind: 'User', name: user }],
  });
}

describe('a definition', () => {
  const definition = (plural: string, group: string): KubeObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, singular: plural.slice(0, -1), kind: 'Thing', listKind: 'ThingList' },
      versions: [{ name: 'v9', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });

  test('cannot have the name of a platform kind, in any version, since its objects would pass for the platform’s', async () => {
    const names: [string, string][] = [
      ['clusterroles', 'rbac.authorization.k8s.io'],
      ['workspaces', 'tenancy.kcp.io'],
      ['workspacetypes', 'tenancy.kcp.io'],
      ['logicalclusters', 'core.kcp.io'],
      ['shards', 'core.kcp.io'],
      ['partitions', 'topology.kcp.io'],
      ['apibindings', 'apis.kcp.io'],
    ];
    for (const cluster of ['root', 'consumer'])
      for (const [plural, group] of names) {
        const { code, text } = await create(cluster, definition(plural, group));
        expect([code, text]).toEqual([403, expect.anything()]);
      }
    expect((await create('root', definition('ingresses', 'networking.k8s.io'))).code).toBe(403);
  });

  test('can have the name of a Kubernetes kind that workspaces lack', async () => {
    expect((await create('consumer', definition('deployments', 'apps'))).code).toBe(201);
  });
});

describe('a schema', () => {
  test('is named after the kind that it defines', async () => {
    const { code, ...reply } = await create('provider', { ...cowboys(), metadata: { name: 'today.sheriffs.wildwest.dev' } });
    expect([code, reply.json().message]).toEqual([
      403,
      'apiresourceschemas.apis.kcp.io "today.sheriffs.wildwest.dev" is forbidden: [metadata.name: Invalid value: "today.sheriffs.wildwest.dev": must end in .cowboys.wildwest.dev]',
    ]);
  });

  test('is immutable', async () => {
    await create('provider', cowboys());
    const path = '/clusters/provider/apis/apis.kcp.io/v1alpha1/apiresourceschemas/today.cowboys.wildwest.dev';
    const { code, ...reply } = await server.call(path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { scope: 'Cluster' } },
    });
    expect([code, reply.json().message]).toEqual([403, expect.stringMatching(/spec: Invalid value: .*: is immutable\]$/s)]);
  });

  test('is validated like a definition', async () => {
    const wrong = cowboys();
    (wrong['spec'] as { versions: { schema: object }[] }).versions[0]!.schema = { type: 'object', properties: { spec: { type: 'text' } } };
    const reply = await create('provider', { ...wrong, metadata: { name: 'wrong.cowboys.wildwest.dev' } });
    expect(reply.json().message).toContain('spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Unsupported value: "text"');
  });
});

describe('an export', () => {
  test('needs schemas named after its resources', async () => {
    const reply = await create('provider', apiExport('odd', { schema: 'today.sheriffs.wildwest.dev' }));
    expect(reply.json().message).toBe(
      'apiexports.apis.kcp.io "odd" is forbidden: spec.resources[0].schema: Invalid value: "today.sheriffs.wildwest.dev": must end in .cowboys.wildwest.dev',
    );
  });

  test('needs the identity for claims on other exports’ kinds', async () => {
    const claim = (group: string, resource: string) => ({ permissionClaims: [{ group, resource, verbs: ['get'] }] });
    const reply = await create('provider', apiExport('greedy', {}, claim('sheriffs.io', 'badges')));
    expect(reply.json().message).toBe(
      'apiexports.apis.kcp.io "greedy" is forbidden: spec.permissionClaims[0].identityHash: Invalid value: "": identityHash is required for API types that are not built-in',
    );
    expect((await create('provider', apiExport('modest', {}, claim('', 'configmaps')))).code).toBe(201);
  });

  test('is annotated with its path, whatever the client sends', async () => {
    const lying = apiExport('cowboys');
    lying.metadata.annotations = { 'kcp.io/path': 'root:elsewhere' };
    expect((await create('provider', lying)).json().metadata.annotations).toMatchObject({ 'kcp.io/path': 'provider' });
  });

  test('is served in both versions', async () => {
    const reply = await server.call('/clusters/provider/apis/apis.kcp.io/v1alpha1/apiexports/cowboys');
    expect(reply.json()).toMatchObject({
      apiVersion: 'apis.kcp.io/v1alpha1',
      spec: { latestResourceSchemas: ['today.cowboys.wildwest.dev'] },
    });
  });
});

describe('a binding', () => {
  const everything = [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['/'], verbs: ['access'] },
  ];

  test('needs permission to bind, in the workspace of the export', async () => {
    await grant('consumer', 'billy', everything);
    const denied = (await create('consumer', apiBinding('cowboys', 'provider'), as('billy'))).json();
    expect(denied.message).toBe(
      'apibindings.apis.kcp.io "cowboys" is forbidden: unable to create APIBinding: no permission to bind to export provider:cowboys',
    );
    await grant('provider', 'billy', [
      { apiGroups: ['apis.kcp.io'], resources: ['apiexports'], resourceNames: ['cowboys'], verbs: ['bind'] },
    ]);
    expect((await create('consumer', apiBinding('cowboys', 'provider'), as('billy'))).json().metadata).toMatchObject({
      finalizers: ['apis.kcp.io/apibinding-finalizer'],
      labels: { 'internal.apis.kcp.io/export': exportLabelValue(asClusterId('provider'), 'cowboys') },
    });
  });

  test('does not reveal whether a workspace or an export exists', async () => {
    for (const path of ['provider', 'nowhere']) {
      const { code, ...reply } = await create('consumer', { ...apiBinding('secret', path), metadata: { name: 'secret' } }, as('billy'));
      expect([code, reply.json().message]).toEqual([403, expect.stringContaining(`no permission to bind to export ${path}:secret`)]);
    }
  });

  test('keeps its finalizer and its reference', async () => {
    const path = '/clusters/consumer/apis/apis.kcp.io/v1alpha2/apibindings/cowboys';
    const patch = (body: object) =>
      server.call(path, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json', ...as('billy') }, body });
    expect((await patch({ metadata: { finalizers: [] } })).json().metadata.finalizers).toEqual(['apis.kcp.io/apibinding-finalizer']);
    expect((await patch({ spec: { reference: { export: { name: 'modest' } } } })).json().message).toMatch(
      /must not be changed|no permission/,
    );
    await server.call(path, { method: 'DELETE' });
    expect((await patch({ metadata: { finalizers: [] } })).json().message).toBe(
      'apibindings.apis.kcp.io "cowboys" is forbidden: removing the finalizer apis.kcp.io/apibinding-finalizer is forbidden',
    );
  });

  test('needs a selector in its claims', async () => {
    const claim = { group: '', resource: 'configmaps', verbs: ['get'], state: 'Accepted' };
    const binding = apiBinding('modest', 'provider', { permissionClaims: [{ ...claim, selector: {} }] });
    expect((await create('consumer', binding)).json().message).toContain(
      'spec.permissionClaims[0].selector: Required value: either one of matchAll, matchLabels, or matchExpressions must be set',
    );
  });
});

describe('a workspace type', () => {
  const type = (name: string, ...defaultAPIBindings: object[]): KubeObject => ({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name },
    spec: { defaultAPIBindings },
  });
  const author = { 'impersonate-user': 'author', 'impersonate-group': 'system:authenticated' };

  test('has default bindings only to exports that its author may bind', async () => {
    const everything = [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ];
    await grant('root', 'author', [{ apiGroups: ['tenancy.kcp.io'], resources: ['workspacetypes'], verbs: ['*'] }]);
    const secret = { path: 'provider', export: 'private' };
    const refused = await create('root', type('thief', secret), author);
    expect([refused.code, refused.json().message]).toEqual([
      403,
      expect.stringContaining('no permission to bind to export provider:private'),
    ]);
    expect((await create('root', type('guess', { path: 'nowhere', export: 'private' }), author)).code).toBe(403);
    expect((await create('root', type('own', { path: 'root', export: 'mine' }, { export: 'other' }), author)).code).toBe(201);
    const later = await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes/own', {
      method: 'PATCH',
      headers: { ...author, 'content-type': 'application/merge-patch+json' },
      body: { spec: { defaultAPIBindings: [secret] } },
    });
    expect(later.code).toBe(403);
    await grant('provider', 'author', everything);
    expect((await create('root', type('permitted', secret), author)).code).toBe(201);
  });
});

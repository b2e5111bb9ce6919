import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Call, createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { bind, share } from '../apis/testing.ts';

let server: TestServer;

const all = (resource: string) => ({ group: '', resource, verbs: ['*'] });
const accepted = (claim: object, selector: object = { matchAll: true }) => ({ ...claim, selector, state: 'Accepted' });
const gold = { matchLabels: { tier: 'gold' } };

beforeAll(async () => {
  server = await startTestServer();
  for (const id of ['provider', 'plain', 'generous', 'picky', 'hasty', 'stranger']) {
    await createWorkspace(server, id);
    await server.call(`/clusters/${id}/api/v1/namespaces`, { method: 'POST', body: { metadata: { name: 'default' } } });
  }
  const readers = { group: '', resource: 'secrets', verbs: ['get', 'list'] };
  const shared = await share(server, 'provider', { permissionClaims: [all('configmaps'), readers, all('serviceaccounts')] });
  await bind(server, { provider: 'provider', consumer: 'plain', shared });
  const generous = [accepted(all('configmaps')), accepted({ ...readers, verbs: ['*'] }), accepted(all('serviceaccounts'))];
  await bind(server, { provider: 'provider', consumer: 'generous', shared, spec: { permissionClaims: generous } });
  const picky = [accepted({ ...all('configmaps'), verbs: ['get', 'list', 'create', 'update'] }, gold)];
  await bind(server, { provider: 'provider', consumer: 'picky', shared, spec: { permissionClaims: picky } });
  const hasty = [accepted({ ...all('configmaps'), verbs: ['patch'] })];
  await bind(server, { provider: 'provider', consumer: 'hasty', shared, spec: { permissionClaims: hasty } });
  for (const id of ['plain', 'generous', 'picky', 'hasty', 'stranger']) {
    await configMap(id, 'own', {});
    await configMap(id, 'marked', { tier: 'gold' });
  }
  await server.call('/clusters/generous/api/v1/namespaces/default/secrets', { method: 'POST', body: { metadata: { name: 'hidden' } } });
  for (const id of ['plain', 'generous']) {
    const path = `/clusters/${id}/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys`;
    expect((await server.call(path, { method: 'POST', body: cowboy('billy') })).code).toBe(201);
  }
  await grant();
});
afterAll(() => server[Symbol.asyncDispose]());

const cowboy = (name: string): object => ({
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name },
  spec: { intent: 'x' },
});

async function configMap(cluster: string, name: string, labels: object): Promise<Reply> {
  return server.call(`/clusters/${cluster}/api/v1/namespaces/default/configmaps`, { method: 'POST', body: { metadata: { name, labels } } });
}

/** Lets `pat` use the view, and enter the workspace of the export. */
async function grant(provider = 'provider'): Promise<void> {
  const rbac = `/clusters/${provider}/apis/rbac.authorization.k8s.io/v1`;
  const rules = [
    { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: ['cowboys'], verbs: ['*'] },
    { nonResourceURLs: ['/'], verbs: ['access'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'pat' };
  const subjects = [{ kind: 'User', name: 'pat', apiGroup: 'rbac.authorization.k8s.io' }];
  await server.call(`${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name: 'pat' }, rules } });
  await server.call(`${rbac}/clusterrolebindings`, { method: 'POST', body: { metadata: { name: 'pat' }, roleRef, subjects } });
}

const view = (path: string, call: Call = {}, user = 'pat'): Promise<Reply> =>
  server.call(`/services/apiexport/provider/cowboys/clusters${path}`, {
    ...call,
    headers: { 'impersonate-user': user, 'impersonate-group': 'system:authenticated', ...call.headers },
  });
const names = (reply: Reply): string[] =>
  reply.json().items!.map(({ metadata }: KubeObject) => `${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`);
const cowboys = '/apis/wildwest.dev/v1alpha1';
const maps = '/api/v1/namespaces/default/configmaps';

describe('the view of an export', () => {
  test('shows its objects in all bound workspaces, annotated with their workspace', async () => {
    expect(names(await view(`/*${cowboys}/cowboys`))).toEqual(['generous/billy', 'plain/billy']);
    expect(names(await view(`/plain${cowboys}/cowboys`))).toEqual(['plain/billy']);
  });

  test('shows claimed objects where the claim was accepted, as far as its selector matches', async () => {
    const shown = ['generous/marked', 'generous/own', 'picky/marked'];
    expect(names(await view('/*/api/v1/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt'))).toEqual(shown);
    expect((await view(`/picky${maps}/own`)).code).toBe(404);
    expect((await view(`/picky${maps}/marked`)).code).toBe(200);
  });

  test('labels claimed objects without storing the labels', async () => {
    const marks = (reply: Reply): string[] => Object.keys(reply.json().metadata.labels ?? {});
    const mark = /^claimed\.internal\.apis\.kcp\.io\/[0-9A-Za-z]+$/;
    const read = await server.call(`/clusters/picky${maps}/marked`);
    expect(marks(read)).toEqual(['tier', expect.stringMatching(mark)]);
    expect(marks(await server.call(`/clusters/picky${maps}/own`))).toEqual([]);
    const written = await server.call(`/clusters/picky${maps}/marked`, { method: 'PUT', body: { ...read.json(), data: { a: '1' } } });
    expect(JSON.stringify(written.json().metadata.managedFields)).not.toContain('claimed.internal');
    await configMap('stranger', 'forged', { 'claimed.internal.apis.kcp.io/x': 'y' });
    expect(marks(await server.call(`/clusters/stranger${maps}/forged`))).toEqual([]);
  });

  test('shows bindings to the export, read-only', async () => {
    expect(names(await view('/*/apis/apis.kcp.io/v1alpha2/apibindings'))).toEqual([
      'generous/cowboys',
      'hasty/cowboys',
      'picky/cowboys',
      'plain/cowboys',
    ]);
    const reply = await view('/plain/apis/apis.kcp.io/v1alpha2/apibindings/cowboys', { method: 'DELETE' });
    expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining('access denied')]);
  });

  test('serves no other kinds', async () => {
    const groups = (await view('/*/apis')).json()['groups'] as { name: string }[];
    expect(groups.map(({ name }) => name)).toEqual(['apis.kcp.io', 'wildwest.dev']);
    const core = (await view('/*/api/v1')).json()['resources'] as { name: string }[];
    expect(core.map(({ name }) => name)).toEqual(['configmaps', 'secrets', 'serviceaccounts', 'serviceaccounts/token']);
    expect((await view('/*/api/v1/limitranges')).code).toBe(404);
    expect((await view('/*/apis/apis.kcp.io/v1alpha2/apiexports')).code).toBe(404);
  });

  test('has OpenAPI documents with the same kinds', async () => {
    const { paths } = (await view('/plain/openapi/v3')).json() as unknown as { paths: Record<string, { serverRelativeURL: string }> };
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['api/v1', 'apis/wildwest.dev/v1alpha1', 'apis/apis.kcp.io/v1alpha2']));
    expect(Object.keys(paths)).not.toContain('apis/apps/v1');
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['api', 'apis', 'apis/wildwest.dev', 'version']));
    const { serverRelativeURL } = paths['apis/wildwest.dev/v1alpha1']!;
    expect(serverRelativeURL).toMatch(
      /^\/services\/apiexport\/provider\/cowboys\/clusters\/plain\/openapi\/v3\/apis\/wildwest.dev\/v1alpha1\?hash=/,
    );
    expect((await server.call(serverRelativeURL)).code).toBe(200);
    const document = (await view('/plain/openapi/v3/api/v1')).text;
    expect(document).toContain('/api/v1/namespaces/{namespace}/configmaps/{name}');
    expect(document).not.toContain('limitranges');
  });
});

describe('writes through the view', () => {
  test('reach bound objects', async () => {
    const path = `/plain${cowboys}/namespaces/default/cowboys`;
    expect((await view(path, { method: 'POST', body: cowboy('annie') })).code).toBe(201);
    const status = { apiVersion: 'wildwest.dev/v1alpha1', kind: 'Cowboy', status: { result: 'done' } };
    const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: status };
    expect((await view(`${path}/annie/status`, patch)).json()['status']).toEqual({ result: 'done' });
    expect((await server.call(`/clusters${path}/annie`)).json()['status']).toEqual({ result: 'done' });
    expect((await view(`${path}/annie`, { method: 'DELETE' })).code).toBe(200);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('never reach an unbound workspace (%s)', async (method) => {
    for (const [path, body] of [
      [`/stranger${cowboys}/namespaces/default/cowboys`, cowboy('mallory')],
      [`/stranger${maps}`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'own' } }],
    ] as const) {
      const named = method === 'POST' ? path : `${path}/own`;
      const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
      const reply = await view(named, { method, body, headers }, 'pat');
      expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining('access denied')]);
    }
    expect((await server.call(`/clusters/stranger${maps}/own`)).code).toBe(200);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('need an accepted claim (%s)', async (method) => {
    const path = method === 'POST' ? `/plain${maps}` : `/plain${maps}/own`;
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    const reply = await view(path, { method, body: { metadata: { name: 'own' } }, headers });
    expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining('access denied')]);
  });

  test('need a verb that both the claim and its acceptance allow', async () => {
    expect((await view(`/picky${maps}/marked`, { method: 'DELETE' })).code).toBe(403);
    const secrets = '/generous/api/v1/namespaces/default/secrets';
    expect((await view(`${secrets}/hidden`)).code).toBe(200);
    expect((await view(`${secrets}/hidden`, { method: 'DELETE' })).code).toBe(403);
  });

  test('by apply need permission to create missing objects', async () => {
    const apply = (name: string) =>
      view(`/hasty${maps}/${name}?fieldManager=test`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } },
      });
    expect((await apply('own')).code).toBe(200);
    const reply = await apply('fresh');
    expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining('cannot create resource "configmaps"')]);
  });

  test('by a claim with labels are limited to the selected objects', async () => {
    const made = await view(`/picky${maps}`, { method: 'POST', body: { metadata: { name: 'made' } } });
    expect(made.json().metadata.labels).toMatchObject({ tier: 'gold' });
    const silver = await view(`/picky${maps}`, { method: 'POST', body: { metadata: { name: 'silver', labels: { tier: 'silver' } } } });
    expect(silver.json().message).toBe('configmaps "silver" is forbidden: protected label tier must have value gold');
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'own', labels: { tier: 'gold' } } };
    expect((await view(`/picky${maps}/own`, { method: 'PUT', body })).code).toBe(404);
  });

  test('by a claim on bindings cannot change their status', async () => {
    for (const id of ['minder', 'minded']) await createWorkspace(server, id);
    const claim = { group: 'apis.kcp.io', resource: 'apibindings', verbs: ['*'] };
    const shared = await share(server, 'minder', { permissionClaims: [claim] });
    await bind(server, { provider: 'minder', consumer: 'minded', shared, spec: { permissionClaims: [accepted(claim)] } });
    await grant('minder');
    const patch = (path: string, body: object): Promise<Reply> =>
      server.call(`/services/apiexport/minder/cowboys/clusters/minded/apis/apis.kcp.io/v1alpha2/apibindings/cowboys${path}`, {
        method: 'PATCH',
        headers: { 'impersonate-user': 'pat', 'impersonate-group': 'system:authenticated', 'content-type': 'application/merge-patch+json' },
        body,
      });
    expect((await patch('', { metadata: { labels: { seen: 'yes' } } })).code).toBe(200);
    expect((await patch('/status', { status: { apiExportClusterName: 'root' } })).code).toBe(403);
  });

  test('by a claim on service accounts cannot create tokens', async () => {
    const accounts = '/generous/api/v1/namespaces/default/serviceaccounts';
    expect((await view(accounts, { method: 'POST', body: { metadata: { name: 'helper' } } })).code).toBe(201);
    expect((await view(`${accounts}/helper/token`, { method: 'POST', body: { spec: {} } })).code).toBe(403);
  });

  test('are rejected across all workspaces', async () => {
    expect((await view(`/*${maps}`, { method: 'POST', body: { metadata: { name: 'x' } } })).code).toBe(405);
  });
});

describe('access to the view', () => {
  test('requires rights on the content of the export', async () => {
    for (const path of [`/*${cowboys}/cowboys`, '/*/apis', '/plain/openapi/v3']) expect((await view(path, {}, 'nobody')).code).toBe(403);
  });

  test('does not reveal whether an export exists', async () => {
    const look = (place: string, user: string) =>
      server.call(`/services/apiexport/${place}/clusters/*${cowboys}/cowboys`, { headers: { 'impersonate-user': user } });
    for (const place of ['nowhere/cowboys', 'provider/nothing']) expect((await look(place, 'nobody')).code).toBe(403);
    expect((await server.call(`/services/apiexport/provider/nothing/clusters/*${cowboys}/cowboys`)).code).toBe(404);
  });

  test('includes watches, which expire when the view changes', async () => {
    const path = '/services/apiexport/provider/cowboys/clusters/*/api/v1/configmaps?watch=true&resourceVersion=0';
    // Earlier bindings may still end a watch.
    await vi.waitFor(async () => {
      const watching = server.watchUntil(path, ({ type, object }) => type === 'ERROR' || object.metadata.name === 'new');
      await configMap('generous', 'new', {});
      expect((await watching).at(-1)).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'new' } } });
    }, 5_000);
    // The export has just got its identity, which makes all watches through its view restart once.
    await sleep(400);
    const watching = server.watchUntil(path, ({ type }) => type === 'ERROR');
    // Controllers detect new and removed workspaces with this watch, so changed claims must not end it.
    const bindings = '/services/apiexport/provider/cowboys/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings?watch=true';
    const joining = server.watchUntil(bindings, ({ type, object }) => type === 'ERROR' || object.metadata.labels?.['marked'] === 'late');
    const claims = [accepted(all('configmaps'))];
    await server.call('/clusters/plain/apis/apis.kcp.io/v1alpha2/apibindings/cowboys', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { permissionClaims: claims } },
    });
    const events = await watching;
    expect(events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    await server.call('/clusters/plain/apis/apis.kcp.io/v1alpha2/apibindings/cowboys', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { labels: { marked: 'late' } } },
    });
    expect((await joining).at(-1)).toMatchObject({ type: 'MODIFIED' });
    expect(names(await view('/*/api/v1/configmaps?labelSelector=tier=gold'))).toContain('plain/marked');
  });
});

describe('claim labels', () => {
  const labelsOf = async (cluster: string, name: string): Promise<Record<string, string>> =>
    (await server.call(`/clusters/${cluster}${maps}/${name}`)).json().metadata.labels ?? {};

  test('can be selected like stored labels', async () => {
    const [key, value] = Object.entries(await labelsOf('picky', 'marked')).find(([one]) => one.startsWith('claimed.internal.'))!;
    const list = async (selector: string): Promise<string[]> =>
      (await server.call(`/clusters/picky${maps}?labelSelector=${encodeURIComponent(selector)}`))
        .json()
        .items!.map(({ metadata }) => metadata.name!);
    expect(await list(key)).toEqual(['made', 'marked']);
    expect(await list(`${key}=${value},tier=gold`)).toEqual(['made', 'marked']);
    expect(await list(`${key}=other`)).toEqual([]);
    expect(await list(`!${key}`)).toContain('own');
    expect(await list(`!${key}`)).not.toContain('marked');
    expect(names(await view(`/*/api/v1/configmaps?labelSelector=${encodeURIComponent(key)}`))).toContain('picky/marked');
  });

  test('update the watches that select by them', async () => {
    const [key] = Object.keys(await labelsOf('picky', 'marked')).filter((one) => one.startsWith('claimed.internal.'));
    const path = `/clusters/picky${maps}?watch=true&timeoutSeconds=20&labelSelector=${encodeURIComponent(key!)}`;
    const { resourceVersion } = (await server.call(`/clusters/picky${maps}`)).json().metadata;
    const watched = server.watchUntil(`${path}&resourceVersion=${resourceVersion}`, ({ type }) => type === 'DELETED');
    const label = (tier: string | null): Promise<Reply> =>
      server.call(`/clusters/picky${maps}/own`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { labels: { tier } } },
      });
    await label('gold');
    await label(null);
    expect((await watched).map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'own'],
      ['DELETED', 'own'],
    ]);
    const ended = server.watchUntil(path, ({ type }) => type === 'ERROR');
    await server.call('/clusters/picky/apis/apis.kcp.io/v1alpha2/apibindings/cowboys', {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { permissionClaims: [] } },
    });
    expect((await ended).at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  });
});

describe('requests across all workspaces', () => {
  const metadata = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };

  const bound = (identity: string) => `/clusters/*/apis/wildwest.dev/v1alpha1/cowboys:${identity}`;

  test('find a bound kind by its identity', async () => {
    const { identityHash } = (await server.call('/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports/cowboys')).json()['status'] as {
      identityHash: string;
    };
    expect(names(await server.call(bound(identityHash)))).toEqual(['generous/billy', 'plain/billy']);
    expect((await server.call(bound('0'.repeat(64)))).code).toBe(404);
    expect((await server.call('/clusters/*/apis/wildwest.dev/v1alpha1/cowboys')).code).toBe(404);
    expect((await server.call('/clusters/*/apis/wildwest.dev/v1alpha1/sheriffs', { headers: metadata })).code).toBe(404);
    const headers = { 'impersonate-user': 'pat', 'impersonate-group': 'system:authenticated' };
    expect((await server.call(bound(identityHash), { headers })).code).toBe(403);
  });

  test('find the metadata of all kinds of a name, whoever defined them', async () => {
    const names = { plural: 'cowboys', singular: 'cowboy', kind: 'Cowboy', listKind: 'CowboyList' };
    const versions = [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const spec = { group: 'wildwest.dev', names, scope: 'Namespaced', versions };
    const own = '/clusters/stranger/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys';
    await server.call('/clusters/stranger/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      method: 'POST',
      body: { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'cowboys.wildwest.dev' }, spec },
    });
    await vi.waitFor(async () => expect((await server.call(own, { method: 'POST', body: cowboy('local') })).code).toBe(201), 5_000);
    const path = '/clusters/*/apis/wildwest.dev/v1alpha1/cowboys';
    const listed = (await server.call(path, { headers: metadata })).json().items!;
    expect(listed.map((one) => one.metadata.name)).toEqual(['billy', 'billy', 'local']);
    expect(listed[0]).not.toHaveProperty('spec');
  });
});

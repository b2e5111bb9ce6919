import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionOf } from '../kubeconfig/connection.ts';
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts';
import { discover, resourceForKind } from '../rest/discovery.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound } from '../rest/error.ts';
import { scriptedServer } from '../testing/scripted-server.ts';
import { Client } from './client.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const configMap = (name: string, data: Record<string, string> = {}, namespace = 'default'): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

/** Capstan, or the server that CAPSTAN_TEST_KUBECONFIG names. */
const foreign = process.env.CAPSTAN_TEST_KUBECONFIG;
let server: TestServer | undefined;
let client: Client;
const namespace = `client-${process.pid}`;

beforeAll(async () => {
  server = foreign === undefined ? await startTestServer() : undefined;
  client = new Client(connectionOf(loadKubeconfig({ path: foreign ?? server!.kubeconfigPath })));
  await client.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
});

afterAll(async () => {
  if (foreign !== undefined) await client.resource(namespaces).delete(namespace);
  client[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});

const maps = () => client.resource<ConfigMap>(configMaps).in(namespace);

describe('objects', () => {
  test('are created, read, replaced and deleted', async () => {
    const made = await maps().create(configMap('life', { a: '1' }, namespace));
    expect(made.metadata.uid).toMatch(/-/);
    const replaced = await maps().update({ ...made, data: { a: '2' } });
    expect((await maps().get('life')).data).toEqual({ a: '2' });
    expect(replaced.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
    await maps().delete('life', { preconditions: { uid: made.metadata.uid! } });
    await expect(maps().get('life')).rejects.toSatisfy(isNotFound);
  });

  test('are patched in three ways and applied', async () => {
    await maps().create(configMap('patched', { a: '1' }, namespace));
    await maps().patch('patched', { type: 'merge', patch: { data: { b: '2' } } });
    await maps().patch('patched', { type: 'json', patch: [{ op: 'replace', path: '/data/a', value: '3' }] });
    await maps().patch('patched', { type: 'strategic', patch: { data: { b: null } } });
    const applied = await maps().apply(configMap('patched', { c: '4' }, namespace), { fieldManager: 'test' });
    expect(applied.data).toEqual({ a: '3', c: '4' });
  });

  test('that others changed in the meantime are not overwritten', async () => {
    const made = await maps().create(configMap('contested', {}, namespace));
    await maps().update({ ...made, data: { first: 'yes' } });
    await expect(maps().update({ ...made, data: { second: 'yes' } })).rejects.toSatisfy(isConflict);
  });

  test('that are rejected say why', async () => {
    await maps().create(configMap('twice', {}, namespace));
    await expect(maps().create(configMap('twice', {}, namespace))).rejects.toSatisfy(isAlreadyExists);
    const error = await maps()
      .create(configMap('Not A Name', {}, namespace))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 422, reason: 'Invalid', status: { details: { causes: [{ field: 'metadata.name' }] } } });
  });

  test('written with dryRun stay unchanged', async () => {
    await maps().create(configMap('rehearsed', {}, namespace), { dryRun: true });
    await expect(maps().get('rehearsed')).rejects.toSatisfy(isNotFound);
  });

  test('of a namespaced type require a namespace', () => {
    expect(() => client.resource(configMaps).get('x')).toThrow('configmaps are namespaced');
  });
});

describe('many objects', () => {
  const labels = { set: 'many' };
  const many = { labelSelector: 'set=many' };
  beforeAll(async () => {
    for (let index = 0; index < 7; index++) {
      const object = configMap(`many-${index}`, {}, namespace);
      await maps().create({ ...object, metadata: { ...object.metadata, labels } });
    }
  });

  test('are listed in pages', async () => {
    const sizes: number[] = [];
    for await (const page of maps().pages({ ...many, limit: 3 })) sizes.push(page.items.length);
    expect(sizes).toEqual([3, 3, 1]);
  });

  test('are found by field', async () => {
    const { items } = await maps().list({ fieldSelector: 'metadata.name=many-3' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['many-3']);
  });

  test('are listed without their content if only metadata is requested', async () => {
    const { items } = await maps().metadata().list(many);
    expect(items).toHaveLength(7);
    expect(items.every((item) => item.data === undefined && item.metadata.name !== undefined)).toBe(true);
  });

  test('are deleted in one request', async () => {
    await maps().deleteCollection(many);
    expect((await maps().list(many)).items).toEqual([]);
  });
});

test('a watch delivers changes in order, and ends when the loop is left', async () => {
  const { metadata } = await maps().list();
  await maps().create(configMap('watched', {}, namespace));
  await maps().patch('watched', { type: 'merge', patch: { data: { a: '1' } } });
  await maps().delete('watched');
  const seen: string[] = [];
  for await (const event of maps().watch({ resourceVersion: metadata.resourceVersion })) {
    if (event.object.metadata.name !== 'watched') continue;
    seen.push(event.type);
    if (event.type === 'DELETED') break;
  }
  expect(seen).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
});

test('a watch that begins with the state marks its end', async () => {
  await maps().create(configMap('present', {}, namespace));
  const names: (string | undefined)[] = [];
  const only = { fieldSelector: 'metadata.name=present' };
  for await (const event of maps().watch({ ...only, sendInitialEvents: true, allowWatchBookmarks: true })) {
    if (event.type === 'BOOKMARK') break;
    names.push(event.object.metadata.name);
  }
  expect(names).toEqual(['present']);
});

test('subresources are written', async () => {
  const accounts = client.resource({ group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true }).in(namespace);
  await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace } });
  const answer = await accounts.writeSubresource<{ status: { token: string } }>('robot', {
    subresource: 'token',
    method: 'POST',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  expect(answer.status.token.split('.')).toHaveLength(3);
});

test('discovery lists what the server serves', async () => {
  const all = await discover(client);
  expect(all).toContainEqual(
    expect.objectContaining({ group: '', version: 'v1', resource: 'configmaps', kind: 'ConfigMap', namespaced: true }),
  );
  expect(all).toContainEqual(expect.objectContaining({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases' }));
  expect(await resourceForKind(client, 'v1', 'Namespace')).toMatchObject({ resource: 'namespaces', namespaced: false });
  expect(await resourceForKind(client, 'nowhere.example/v1', 'Nothing')).toBeUndefined();
});

test('requests can impersonate another user', async () => {
  const other = new Client({ ...client.connection, impersonate: { user: 'jane', groups: ['readers'] } });
  await expect(other.resource(configMaps).in(namespace).list()).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining('User "jane" cannot list resource "configmaps"'),
  });
  other[Symbol.dispose]();
});

test('a guard stops writes, but not reads', async () => {
  const guarded = client.guarded(() => {
    throw new Error('not leading');
  });
  await expect(guarded.resource(configMaps).create(configMap('guarded', {}, namespace))).rejects.toThrow('not leading');
  await expect(guarded.resource(namespaces).get(namespace)).resolves.toMatchObject({ metadata: { name: namespace } });
});

test('a client at another path of the same server shares its connections and its guard', async () => {
  const requests: string[] = [];
  await using server = await scriptedServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('{}');
  });
  using client = new Client({ ...server.connection, server: `${server.connection.server}/clusters/root` });
  const view = client
    .guarded(() => {
      throw new Error('not now');
    })
    .under('/services/apiexport/a/b/')
    .cluster('*');
  await view.json({ method: 'GET', path: '/api' });
  expect(requests).toEqual(['/services/apiexport/a/b/clusters/*/api']);
  await expect(view.json({ method: 'POST', path: '/api' })).rejects.toThrow('not now');
  expect([client.coversWorkspaces, view.coversWorkspaces]).toEqual([false, true]);
});

import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { cachedResource, endpointSlice, flavor, flavors, Publishing } from './testing.ts';

let server: TestServer;
let publishing: Publishing;
const everyone = ['provider', 'one', 'two', 'stranger', 'thief'];

beforeAll(async () => {
  server = await startTestServer();
  publishing = new Publishing(server);
  for (const id of everyone) await createWorkspace(server, id);
  await publishing.publish('provider', { labelSelector: { matchExpressions: [{ key: 'secret', operator: 'DoesNotExist' }] } });
  await establish('provider');
  for (const [name, labels] of [
    ['large', { tier: 'gold' }],
    ['small', {}],
    ['hidden', { secret: 'yes' }],
  ] as const)
    await publishing.put(`/clusters/provider${flavors}`, flavor(name, labels));
  for (const id of ['one', 'two']) await publishing.bind(id, 'provider');
});
afterAll(() => server[Symbol.asyncDispose]());

async function establish(cluster: string): Promise<void> {
  await vi.waitFor(async () => expect((await server.call(`/clusters/${cluster}${flavors}`)).code).toBe(200));
}

const at = (cluster: string, rest = ''): string => `/clusters/${cluster}${flavors}${rest}`;
const namesIn = (reply: Reply): string[] => reply.json().items!.map(({ metadata }: KubeObject) => metadata.name!);
const placed = (reply: Reply): string[] =>
  reply.json().items!.map(({ metadata }: KubeObject) => `${metadata.annotations!['kcp.io/cluster']}/${metadata.name}`);

describe('published objects', () => {
  test('are visible to all consumers as if stored in their workspace', async () => {
    for (const consumer of ['one', 'two']) {
      expect(placed(await server.call(at(consumer)))).toEqual([`${consumer}/large`, `${consumer}/small`]);
      const [original, seen] = await Promise.all([server.call(at('provider', '/large')), server.call(at(consumer, '/large'))]);
      const { metadata, ...rest } = original.json();
      expect(seen.json()).toEqual({ ...rest, metadata: { ...metadata, annotations: { 'kcp.io/cluster': consumer } } });
    }
  });

  test('are served in every format, in pages, and by selectors', async () => {
    const table = await server.call(at('one'), { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
    expect((table.json()['rows'] as { cells: string[] }[]).map(({ cells }) => cells[0])).toEqual(['large', 'small']);
    const partial = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
    expect(placed(await server.call(at('one'), { headers: partial }))).toEqual(['one/large', 'one/small']);
    const page = (await server.call(at('one', '?limit=1'))).json() as unknown as { metadata: { continue: string } };
    expect(namesIn(await server.call(at('one', `?limit=1&continue=${page.metadata.continue}`)))).toEqual(['small']);
    expect(namesIn(await server.call(at('one', '?labelSelector=tier=gold')))).toEqual(['large']);
    expect(namesIn(await server.call(at('one', '?fieldSelector=metadata.name=small')))).toEqual(['small']);
  });

  test('are read-only in discovery', async () => {
    const { resources } = (await server.call('/clusters/one/apis/cloud.example.com/v1')).json() as unknown as { resources: object[] };
    expect(resources).toMatchObject([{ name: 'flavors', kind: 'Flavor', verbs: ['get', 'list', 'watch'] }]);
    expect(resources).toHaveLength(1);
    const methods = async (cluster: string): Promise<string[]> => {
      const { paths } = (await server.call(`/clusters/${cluster}/openapi/v3/apis/cloud.example.com/v1`)).json() as unknown as {
        paths: Record<string, object>;
      };
      const all = Object.entries(paths).filter(([path]) => path.includes('/flavors') && !path.includes('/watch/'));
      return [...new Set(all.flatMap(([, operations]) => Object.keys(operations)))].filter((name) => name !== 'parameters').sort();
    };
    expect(await methods('provider')).toEqual(['delete', 'get', 'patch', 'post', 'put']);
    expect(await methods('one')).toEqual(['get']);
  });

  test('are watched: added, modified, removed by the selector, and deleted', async () => {
    const { resourceVersion } = (await server.call(at('one'))).json().metadata;
    const watching = server.watch(at('one', `?watch=1&resourceVersion=${resourceVersion}`), 5);
    await publishing.put(at('provider'), flavor('unseen', { secret: 'yes' }));
    const made = await publishing.put(at('provider'), flavor('brief'));
    const changed = await publishing.put(at('provider', '/brief'), { ...made, spec: { gpus: 1 } }, 'PUT');
    const left = { ...changed, metadata: { ...changed.metadata, labels: { secret: 'yes' } } };
    const hidden = await publishing.put(at('provider', '/brief'), left, 'PUT');
    await publishing.put(at('provider', '/brief'), { ...hidden, metadata: { ...hidden.metadata, labels: {} } }, 'PUT');
    for (const name of ['brief', 'unseen']) await server.call(at('provider', `/${name}`), { method: 'DELETE' });
    const events = await watching;
    const seen = events.map(({ type, object }) => `${type} ${object.metadata.annotations!['kcp.io/cluster']}/${object.metadata.name}`);
    expect(seen).toEqual(['ADDED one/brief', 'MODIFIED one/brief', 'DELETED one/brief', 'ADDED one/brief', 'DELETED one/brief']);
  });
});

describe('a watch', () => {
  const endsWith = async (watching: Promise<{ type: string; object: KubeObject }[]>): Promise<object | undefined> =>
    (await watching).at(-1)?.object;
  const expired = { code: 410, reason: 'Expired' };
  const untilError = (path: string) => server.watchUntil(`${path}?watch=1`, ({ type }) => type === 'ERROR');

  test('restarts when other objects are published', async () => {
    const path = '/clusters/provider/apis/cache.kcp.io/v1alpha1/cachedresources/flavors';
    const watching = untilError(at('one'));
    const found = (await server.call(path)).json();
    const spec = { ...(found['spec'] as object), labelSelector: { matchLabels: { tier: 'gold' } } };
    await publishing.put(path, { ...found, spec }, 'PUT');
    expect(await endsWith(watching)).toMatchObject(expired);
    expect(namesIn(await server.call(at('one')))).toEqual(['large']);
    await publishing.put(path, { ...(await server.call(path)).json(), spec: found['spec'] }, 'PUT');
  });

  test('is rejected with a resourceVersion from before other objects were published', async () => {
    const path = '/clusters/provider/apis/cache.kcp.io/v1alpha1/cachedresources/flavors';
    const { resourceVersion } = (await server.call(at('one'))).json().metadata;
    const found = (await server.call(path)).json();
    for (const labelSelector of [{}, (found['spec'] as { labelSelector: object }).labelSelector]) {
      const now = (await server.call(path)).json();
      await publishing.put(path, { ...now, spec: { ...(now['spec'] as object), labelSelector } }, 'PUT');
    }
    const refused = await server.call(at('one', `?watch=1&resourceVersion=${resourceVersion}`));
    expect([refused.code, refused.json().reason]).toEqual([410, 'Expired']);
    const later = (await server.call(at('one'))).json().metadata.resourceVersion;
    const watching = server.watch(at('one', `?watch=1&resourceVersion=${later}`), 1);
    const made = await publishing.put(at('provider'), flavor('later'));
    expect((await watching)[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'later' } } });
    await server.call(at('provider', `/${made.metadata.name}`), { method: 'DELETE' });
  });

  test('ends when the binding is deleted', async () => {
    await createWorkspace(server, 'leaving');
    await publishing.bind('leaving', 'provider');
    const watching = untilError(at('leaving'));
    const path = '/clusters/leaving/apis/apis.kcp.io/v1alpha2/apibindings/catalog';
    await server.call(path, { method: 'DELETE' });
    const ending = (await server.call(path)).json();
    await publishing.put(path, { ...ending, metadata: { ...ending.metadata, finalizers: [] } }, 'PUT');
    expect(await endsWith(watching)).toMatchObject(expired);
    expect((await server.call(at('leaving'))).code).toBe(404);
  });
});

test('the root workspace shows bound objects as Kubernetes would', async () => {
  await publishing.bind('root', 'provider');
  const { items } = (await server.call(flavors)).json();
  expect(items!.map(({ metadata }) => [metadata.name, metadata.annotations])).toEqual([
    ['large', undefined],
    ['small', undefined],
  ]);
  expect((await server.call(`${flavors}/small`)).json().metadata.annotations).toBeUndefined();
  const events = await server.watch(`${flavors}?watch=1`, 2);
  expect(events.map(({ object: { metadata } }) => [metadata.name, metadata.annotations])).toEqual([
    ['large', undefined],
    ['small', undefined],
  ]);
  expect(placed(await server.call(at('root')))).toEqual(['root/large', 'root/small']);
});

test('the published objects are the same after a restart', async () => {
  await server.restart();
  expect(placed(await server.call(at('one')))).toEqual(['one/large', 'one/small']);
  expect((await server.call(at('one', '/hidden'))).code).toBe(404);
});

describe('a consumer', () => {
  test('cannot write', async () => {
    const before = (await server.call(at('provider'))).text;
    const merge = { 'content-type': 'application/merge-patch+json' };
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    const calls: readonly [string, string, object?, Record<string, string>?][] = [
      ['POST', '', flavor('mine')],
      ['PUT', '/large', flavor('large')],
      ['PATCH', '/large', { spec: { gpus: 0 } }, merge],
      ['PATCH', '/mine?fieldManager=me', flavor('mine'), apply],
      ['DELETE', '/large'],
      ['DELETE', ''],
      ['PUT', '/large/status', flavor('large')],
      ['PATCH', '/large/status', { status: {} }, merge],
      ['PUT', '/large/scale', {}],
    ];
    for (const [method, rest, body, headers = {}] of calls) {
      const { code } = await server.call(at('one', rest), { method, headers, ...(body !== undefined && { body }) });
      expect([method, rest, code]).toEqual([method, rest, rest.includes('/large/') ? 404 : 405]);
    }
    expect((await server.call(at('provider'))).text).toBe(before);
    expect(namesIn(await server.call(at('one')))).toEqual(['large', 'small']);
  });

  test('cannot see objects outside of the selector', async () => {
    expect((await server.call(at('one', '/hidden'))).code).toBe(404);
    expect(namesIn(await server.call(at('one', '?labelSelector=secret')))).toEqual([]);
    expect(namesIn(await server.call(at('one', '?resourceVersion=0')))).toEqual(['large', 'small']);
  });

  test('needs a binding, and sees no other objects of the provider', async () => {
    expect((await server.call(at('stranger'))).code).toBe(404);
    await publishing.put('/clusters/provider/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'private' } });
    expect((await server.call('/clusters/one/apis/rbac.authorization.k8s.io/v1/clusterroles/private')).code).toBe(404);
  });

  test('cannot see more by writing the status of a binding', async () => {
    const own = new Publishing(server);
    await own.publish('thief');
    await own.bind('stranger', 'thief');
    const path = '/clusters/stranger/apis/apis.kcp.io/v1alpha2/apibindings/catalog';
    const binding = (await server.call(path)).json();
    await own.bound('stranger', binding, { provider: 'provider', name: 'catalog' });
    expect((await server.call(at('stranger'))).code).toBe(404);
    expect(namesIn(await server.call(at('one')))).toEqual(['large', 'small']);
  });
});

describe('a broken link', () => {
  const cacheApi = (resource: string): string => `/clusters/broken/apis/cache.kcp.io/v1alpha1/${resource}`;
  const told = async (): Promise<string> => {
    const { code, ...reply } = await server.call(at('reader'));
    return `${code} ${reply.json().message}`;
  };

  beforeAll(async () => {
    for (const id of ['broken', 'reader']) await createWorkspace(server, id);
    await publishing.publish('broken');
    await establish('broken');
    await publishing.bind('reader', 'broken');
    await publishing.put(at('broken'), flavor('one'));
    expect(namesIn(await server.call(at('reader')))).toEqual(['one']);
  });

  test('is reported, and nothing is served from memory', async () => {
    const slices = cacheApi('cachedresourceendpointslices');
    const watching = server.watchUntil(at('reader', '?watch=1'), ({ type }) => type === 'ERROR');
    await server.call(`${slices}/flavors`, { method: 'DELETE' });
    expect(await told()).toBe(
      '500 Internal error occurred: error resolving resource flavors.cloud.example.com: CachedResourceEndpointSlice broken|flavors not found; please contact APIExport owner to resolve',
    );
    expect((await watching).at(-1)!.object).toMatchObject({ code: 410, reason: 'Expired' });
    await publishing.put(slices, endpointSlice('flavors', { path: 'provider', name: 'flavors' }));
    expect(await told()).toContain('CachedResource provider|flavors is not in the workspace of the APIExport');
    await server.call(`${slices}/flavors`, { method: 'DELETE' });
    await publishing.put(slices, endpointSlice('flavors', { name: 'flavors' }));
    expect(namesIn(await server.call(at('reader')))).toEqual(['one']);
    await server.call(`${cacheApi('cachedresources')}/flavors`, { method: 'DELETE' });
    expect(await told()).toContain('CachedResource broken|flavors not found');
    const other = { ...cachedResource('flavors'), spec: { group: 'cloud.example.com', version: 'v1', resource: 'others' } };
    await publishing.put(cacheApi('cachedresources'), other);
    expect(await told()).toContain('CachedResource broken|flavors publishes others.cloud.example.com');
    await server.call(`${cacheApi('cachedresources')}/flavors`, { method: 'DELETE' });
    await publishing.put(cacheApi('cachedresources'), cachedResource('flavors'));
    expect(await told()).toContain('the identity hash of CachedResource broken|flavors is not the one that the APIExport names');
  });

  test('includes an export that was recreated with another identity', async () => {
    const path = '/clusters/broken/apis/apis.kcp.io/v1alpha2/apiexports/catalog';
    const found = (await server.call(path)).json();
    await publishing.put(`${path}/status`, { ...found, status: { identityHash: 'another' } }, 'PUT');
    expect(await told()).toContain('APIExport broken|catalog has a different identity than the one that was bound');
  });

  test('does not break discovery for the consumer', async () => {
    await server.call('/clusters/broken/apis/apis.kcp.io/v1alpha2/apiexports/catalog', { method: 'DELETE' });
    expect(await told()).toContain('APIExport broken|catalog not found');
    expect((await server.call('/clusters/reader/apis')).text).toContain('cloud.example.com');
  });
});

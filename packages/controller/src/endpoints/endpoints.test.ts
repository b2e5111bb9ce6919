import { type ApiExportEndpointSlice, apiExportKind, endpointSliceKind } from '@capstan/api';
import { createWorkspace, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, fixedCredentials, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { controller } from '../controller/builder.ts';
import { done } from '../controller/result.ts';
import { Manager } from '../manager/manager.ts';
import type { Runnable } from '../manager/runnable.ts';
import { acrossEndpoints } from './across.ts';
import { type Endpoints, fixedEndpoints } from './endpoints.ts';
import { sliceEndpoints } from './slice.ts';

/** The machine may be busy. */
const patiently = { timeout: 15_000 };

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true, kind: 'ConfigMap' };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

async function workspace(id: string): Promise<Client> {
  await createWorkspace(server, id);
  const there = client.cluster(id);
  await there.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  return there;
}

const map = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});
const make = (where: Client, name: string, data = {}) => where.resource(configMaps).create(map(name, data));

/** Endpoints that a test changes. */
class ChangingEndpoints implements Endpoints {
  #clients: ReadonlyMap<string, Client> = new Map();
  readonly #followers = new Set<(clients: ReadonlyMap<string, Client>) => void>();

  set(clients: Record<string, Client>): void {
    this.#clients = new Map(Object.entries(clients));
    for (const follower of this.#followers) follower(this.#clients);
  }

  follow(onChange: (clients: ReadonlyMap<string, Client>) => void, signal: AbortSignal): void {
    this.#followers.add(onChange);
    signal.addEventListener('abort', () => this.#followers.delete(onChange), { once: true });
    onChange(this.#clients);
  }
}

async function running(runnables: readonly Runnable[], body: (log: readonly string[]) => Promise<void>): Promise<void> {
  const log: string[] = [];
  const manager = new Manager({ client, log: (line) => log.push(line) });
  for (const one of runnables) manager.add(one);
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  try {
    await body(log);
  } finally {
    stop.abort();
    await ended;
  }
}

describe('acrossEndpoints', () => {
  test('starts at an endpoint that appears, ends at one that disappears, and goes on at the others', async () => {
    const [first, second] = [await workspace('first'), await workspace('second')];
    const endpoints = new ChangingEndpoints();
    const seen: string[] = [];
    const watching = controller('watching')
      .for(configMaps, { namespace: 'default', labelSelector: '!none' })
      .reconcile(({ key, object, client: own }) => {
        if (object !== undefined) seen.push(`${own.connection.server.split('/').at(-1)} ${key.name}`);
        return done;
      });
    await running([acrossEndpoints(endpoints, watching)], async () => {
      endpoints.set({ first });
      await make(first, 'a');
      await vi.waitFor(() => expect(seen).toContain('first a'), patiently);
      endpoints.set({ first, second });
      await make(second, 'b');
      await vi.waitFor(() => expect(seen).toContain('second b'), patiently);
      endpoints.set({ second });
      await make(first, 'c');
      await make(second, 'd');
      await vi.waitFor(() => expect(seen).toContain('second d'), patiently);
      expect(seen).not.toContain('first c');
      endpoints.set({ first, second });
      await vi.waitFor(() => expect(seen).toContain('first c'), patiently);
    });
  });

  test('is not disturbed by an endpoint that cannot be reached', async () => {
    const healthy = await workspace('healthy');
    using broken = new Client({ server: 'http://127.0.0.1:1', credentials: fixedCredentials({}), namespace: 'default' });
    const seen: string[] = [];
    const watching = controller('watching')
      .for(configMaps, { namespace: 'default' })
      .reconcile(({ key }) => {
        seen.push(key.name);
        return done;
      });
    await running([acrossEndpoints(fixedEndpoints(broken, healthy), watching)], async (log) => {
      await make(healthy, 'a');
      await vi.waitFor(() => expect(seen).toContain('a'), patiently);
      await vi.waitFor(() => expect(log).toEqual([expect.stringContaining('the API server cannot be used')]), patiently);
    });
  });

  test('starts again where it failed, while it works elsewhere', async () => {
    const [fine, failing] = [await workspace('fine'), await workspace('failing')];
    const runs: string[] = [];
    const runnable: Runnable = {
      name: 'fragile',
      run: async ({ client: own, signal }) => {
        const place = own.connection.server.split('/').at(-1)!;
        runs.push(place);
        if (place === 'failing' && runs.filter((one) => one === place).length < 3) throw new Error('no luck');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    };
    await running([acrossEndpoints(fixedEndpoints(fine, failing), runnable)], async (log) => {
      await vi.waitFor(() => expect(runs.filter((one) => one === 'failing')).toHaveLength(3), 5_000);
      expect(runs.filter((one) => one === 'fine')).toHaveLength(1);
      expect(log.filter((line) => line.includes('no luck'))).toHaveLength(2);
      expect(log[0]).toMatch(/^fragile: https:\/\/.*\/clusters\/failing: no luck; starts again there in 1 s$/);
    });
  });

  test('lets a controller read and watch objects of another workspace', async () => {
    const [tenant, platform] = [await workspace('tenant'), await workspace('platform')];
    await make(platform, 'prices', { small: '1' });
    await make(tenant, 'order', { size: 'small' });
    const prices = async () => (await tenant.resource(configMaps).get({ namespace: 'default', name: 'order' })).data;
    const pricing = controller('pricing')
      .for(configMaps, { namespace: 'default', fieldSelector: 'metadata.name=order' })
      .reads((_, at) => ({ catalog: at(platform).informer(configMaps, { namespace: 'default' }) }))
      .watches(configMaps, () => [{ namespace: 'default', name: 'order' }], { client: platform, namespace: 'default' })
      .reconcile(async ({ key, object, copies, client: own, wrote }) => {
        const order = (object as { data?: Record<string, string> } | undefined)?.data;
        const known = copies.catalog.get({ namespace: 'default', name: 'prices' }) as { data?: Record<string, string> } | undefined;
        const price = known?.data?.[order?.['size'] ?? ''];
        if (order === undefined || price === undefined || order['price'] === price) return done;
        wrote(
          await own.resource(configMaps).patch({ namespace: 'default', name: key.name }, { type: 'merge', patch: { data: { price } } }),
        );
        return done;
      });
    await running([acrossEndpoints(fixedEndpoints(tenant), pricing)], async () => {
      await vi.waitFor(async () => expect(await prices()).toEqual({ size: 'small', price: '1' }), patiently);
      await platform
        .resource(configMaps)
        .patch({ namespace: 'default', name: 'prices' }, { type: 'merge', patch: { data: { small: '2' } } });
      await vi.waitFor(async () => expect(await prices()).toEqual({ size: 'small', price: '2' }), patiently);
    });
  });

  test('shares informers among controllers of the same endpoint', async () => {
    const shared = await workspace('shared');
    const counted = vi.spyOn(shared, 'send');
    const seen: string[] = [];
    const watching = (name: string) =>
      controller(name)
        .for(secrets as never)
        .reconcile(({ key }) => {
          seen.push(`${name} ${key.name}`);
          return done;
        });
    const endpoints = fixedEndpoints(shared);
    await running([acrossEndpoints(endpoints, watching('one')), acrossEndpoints(endpoints, watching('two'))], async () => {
      await shared.resource(secrets).create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'it', namespace: 'default' } });
      await vi.waitFor(() => expect(seen).toEqual(expect.arrayContaining(['one it', 'two it'])), patiently);
      const watches = counted.mock.calls.filter(([{ path }]) => path.includes('watch=true'));
      expect(watches).toHaveLength(1);
    });
  });
});

describe('sliceEndpoints', () => {
  test('follows the URLs in the status of a slice', async () => {
    const slices = client.resource<ApiExportEndpointSlice>(endpointSliceKind);
    const urlsOf: string[][] = [];
    const clientOf = vi.fn((url: string) => client.under(new URL(url).pathname));
    const following: Runnable = {
      name: 'following',
      async run({ informers, signal }) {
        const endpoints = sliceEndpoints({ informers, name: 'wares', clientOf });
        endpoints.follow(
          (clients) => urlsOf.push([...clients.values()].map(({ connection }) => new URL(connection.server).pathname)),
          signal,
        );
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    };
    const setUrls = (...paths: string[]) =>
      slices.patch(
        'wares',
        { type: 'merge', patch: { status: { endpoints: paths.map((path) => ({ url: `https://example.com${path}` })) } } },
        { subresource: 'status' },
      );
    await client
      .resource(apiExportKind)
      .create({ apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name: 'wares' }, spec: { resources: [] } });
    await running([following], async () => {
      await slices.create({
        apiVersion: 'apis.kcp.io/v1alpha1',
        kind: 'APIExportEndpointSlice',
        metadata: { name: 'wares' },
        spec: { export: { path: 'root', name: 'wares' } },
      });
      await setUrls('/one');
      await setUrls('/one', '/two');
      await setUrls('/two');
      await slices.delete('wares');
      await vi.waitFor(() => expect(urlsOf).toEqual([[], ['/one'], ['/one', '/two'], ['/two'], []]), patiently);
      expect(clientOf.mock.calls).toEqual([['https://example.com/one'], ['https://example.com/two']]);
    });
  });
});

import { createWorkspace, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { type KubeObject, parseLabelSelector } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Client } from '../http/client.ts';
import { connectionOf } from '../kubeconfig/connection.ts';
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts';
import { type TcpProxy, tcpProxy } from '../testing/scripted-server.ts';
import { dropManagedFields, InformerFactory } from './factory.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

let server: TestServer;
/** The server has another port after a restart; the proxy keeps its own. */
let proxy: TcpProxy;
let client: Client;
const serverPort = (): number => Number(new URL(server.url).port);

beforeAll(async () => {
  server = await startTestServer();
  proxy = await tcpProxy(serverPort);
  client = new Client({ ...connectionOf(loadKubeconfig({ path: server.kubeconfigPath })), server: `https://127.0.0.1:${proxy.port}` });
});

afterAll(async () => {
  client[Symbol.dispose]();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function inNamespace(name: string) {
  const all = client.resource({ group: '', version: 'v1', resource: 'namespaces', namespaced: false });
  await all.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const maps = client.resource(configMaps).in(name);
  return {
    maps,
    make: (object: string, labels: Record<string, string> = {}): Promise<KubeObject> =>
      maps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: object, namespace: name, labels }, data: { content: object } }),
  };
}

test('keeps its copy current', async () => {
  const { maps, make } = await inNamespace('follows');
  await make('old');
  await using factory = new InformerFactory({ client });
  const informer = factory.informer(configMaps, { namespace: 'follows' });
  const seen: string[] = [];
  informer.onChange((change) => void seen.push(`${change.type} ${change.object.metadata.name}`));
  factory.start();
  await factory.synced(AbortSignal.timeout(10_000));
  expect(seen).toEqual(['added old']);
  expect(informer.get({ namespace: 'follows', name: 'old' })).toMatchObject({ kind: 'ConfigMap', data: { content: 'old' } });
  await make('new');
  await maps.patch('new', { type: 'merge', patch: { data: { content: 'changed' } } });
  await maps.delete('old');
  await vi.waitFor(() => expect(seen).toEqual(['added old', 'added new', 'updated new', 'deleted old']), 10_000);
  expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['new']);
});

test('is shared by all who ask for the same selection', async () => {
  await using factory = new InformerFactory({ client });
  const one = factory.informer(configMaps, { labelSelector: 'a=b' });
  expect(factory.informer(configMaps, { labelSelector: 'a=b' })).toBe(one);
  expect(factory.informer(configMaps)).not.toBe(one);
  expect(factory.informer(configMaps, { labelSelector: 'a=b', metadataOnly: true })).not.toBe(one);
});

test('reports existing objects to a late follower', async () => {
  const { make } = await inNamespace('late');
  await make('a');
  await using factory = new InformerFactory({ client });
  factory.start();
  const informer = factory.informer(configMaps, { namespace: 'late' });
  await informer.synced();
  const seen: unknown[] = [];
  informer.onChange((change) => void seen.push(change));
  expect(seen).toEqual([{ type: 'added', initial: true, object: expect.objectContaining({ data: { content: 'a' } }) }]);
});

test('keeps one throwing handler from affecting others', async () => {
  const { make } = await inNamespace('throws');
  await make('a');
  const errors: unknown[] = [];
  await using factory = new InformerFactory({ client, onError: (error) => void errors.push(error) });
  const informer = factory.informer(configMaps, { namespace: 'throws' });
  informer.onChange(() => {
    throw new Error('mine');
  });
  let told = 0;
  informer.onChange(() => void told++);
  factory.start();
  await factory.synced();
  expect(told).toBe(1);
  expect(errors).toEqual([new Error('mine')]);
});

test('narrows its copy with selectors, indexes and transforms', async () => {
  const { maps, make } = await inNamespace('narrow');
  await make('a', { team: 'x', tier: '1' });
  await make('b', { team: 'x', tier: '2' });
  await make('c', { team: 'y', tier: '1' });
  await make('d');
  await using factory = new InformerFactory({ client, transform: dropManagedFields });
  const informer = factory.informer(configMaps, { namespace: 'narrow', labelSelector: 'team', metadataOnly: true });
  informer.addIndex('team', ({ metadata }) => [metadata.labels?.team ?? '']);
  factory.start();
  await factory.synced();
  const names = (objects: readonly KubeObject[]) =>
    objects.map(({ metadata }) => metadata.name ?? '').sort((one, other) => one.localeCompare(other));
  expect(names(informer.list())).toEqual(['a', 'b', 'c']);
  expect(names(informer.byIndex('team', 'x'))).toEqual(['a', 'b']);
  expect(names(informer.list({ labels: parseLabelSelector('tier=1') }))).toEqual(['a', 'c']);
  expect(informer.list().every(({ metadata, data }) => metadata.managedFields === undefined && data === undefined)).toBe(true);
  await maps.patch('b', { type: 'merge', patch: { metadata: { labels: { team: 'y' } } } });
  await vi.waitFor(() => expect(names(informer.byIndex('team', 'y'))).toEqual(['b', 'c']), 10_000);
  expect(names(informer.byIndex('team', 'x'))).toEqual(['a']);
  await maps.patch('b', { type: 'merge', patch: { metadata: { labels: { team: null } } } });
  await vi.waitFor(() => expect(names(informer.byIndex('team', 'y'))).toEqual(['c']), 10_000);
});

test('survives a restart of the server without repeating changes', async () => {
  const { make } = await inNamespace('restart');
  await make('a');
  await using factory = new InformerFactory({ client });
  const informer = factory.informer(configMaps, { namespace: 'restart' });
  const seen: string[] = [];
  informer.onChange((change) => void seen.push(`${change.type} ${change.object.metadata.name}`));
  factory.start();
  await factory.synced();
  await server.restart();
  await make('b');
  await vi.waitFor(() => expect(seen).toEqual(['added a', 'added b']), 20_000);
});

test('notices and replaces a connection that died silently', async () => {
  const { make } = await inNamespace('half-open');
  await using cable = await tcpProxy(serverPort);
  using behind = new Client(
    { ...client.connection, server: `https://127.0.0.1:${cable.port}` },
    { timeouts: { connect: 1000, response: 1000 } },
  );
  await using factory = new InformerFactory({ client: behind, idleTimeout: 500 });
  const informer = factory.informer(configMaps, { namespace: 'half-open' });
  factory.start();
  await factory.synced();
  cable.stall();
  await make('unseen');
  cable.heal();
  await vi.waitFor(() => expect(informer.get({ namespace: 'half-open', name: 'unseen' })).toBeDefined(), 20_000);
});

test('names the workspace in its keys only if it covers several', async () => {
  await createWorkspace(server, 'alone');
  const spaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };
  const there = client.cluster('alone');
  const made = await there.resource(spaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'it' } });
  await using inside = new InformerFactory({ client: there });
  await using across = new InformerFactory({ client: client.cluster('*') });
  const [one, all] = [inside.informer(spaces), across.informer(spaces)];
  for (const factory of [inside, across]) {
    factory.start();
    await factory.synced(AbortSignal.timeout(10_000));
  }
  expect(one.get({ name: 'it' })?.metadata.uid).toBe(made.metadata.uid);
  expect(one.getByText(one.textOf(made))).toBe(one.get({ name: 'it' }));
  expect(all.get({ cluster: 'alone', name: 'it' })?.metadata.uid).toBe(made.metadata.uid);
  expect(all.getByText(all.textOf(made))?.metadata.uid).toBe(made.metadata.uid);
  await there.resource(spaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'late' } });
  await vi.waitFor(() => expect(one.get({ name: 'late' })).toBeDefined(), 10_000);
});

test('a part waits only for the informers that were asked for through it', async () => {
  await using factory = new InformerFactory({ client });
  const [fine, waiting] = [factory.part(), factory.part()];
  const shared = fine.informer(configMaps);
  expect(waiting.informer(configMaps)).toBe(shared);
  waiting.informer({ group: 'example.com', version: 'v1', resource: 'unknowns', namespaced: false });
  factory.start();
  await fine.synced(AbortSignal.timeout(10_000));
  expect([fine.hasSynced, waiting.hasSynced, factory.hasSynced]).toEqual([true, false, false]);
  expect([fine.of(configMaps), fine.of({ group: 'example.com', resource: 'unknowns' })]).toEqual([[shared], []]);
});

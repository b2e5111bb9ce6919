import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { type TcpProxy, tcpProxy } from '@capstan/client/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accountToken } from '../suite/accounts.ts';
import { adminConnection, type ConsoleSuite, startSuite } from '../suite/console.ts';

let server: TestServer;
let proxy: TcpProxy;
let page: ConsoleSuite;
let owner: string;
let reader: string;
const path = '/clusters/root/api/v1/namespaces/default/configmaps';
const secrets = '/clusters/root/api/v1/namespaces/default/secrets';

beforeAll(async () => {
  server = await startTestServer();
  // It comes back on another port.
  proxy = await tcpProxy(() => Number(new URL(server.url).port));
  const connection = { ...adminConnection(server.kubeconfigPath), server: `https://127.0.0.1:${proxy.port}` };
  page = await startSuite({ connection, limits: { live: { longestWait: 200, second: 20, keys: 10 } } });
  owner = await accountToken(server, 'owner', { role: 'cluster-admin' });
  reader = await accountToken(server, 'reader', { role: 'view' });
});
afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  page.cookie = '';
  await page.signIn(owner);
});

const create = (name: string) => server.call(path, { method: 'POST', body: { metadata: { name, labels: { own: name } } } });
const remove = (name: string) => server.call(`${path}/${name}`, { method: 'DELETE' });

test('a list comes first, and changes follow', async () => {
  await create('before');
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.names('maps')).toContain('before');
  await create('later');
  await remove('before');
  await expect.poll(() => tab.names('maps')).toSatisfy((names: string[]) => names.includes('later') && !names.includes('before'));
  expect(tab.of('maps', 'list')).toHaveLength(1);
  expect(tab.of('maps', 'list')[0]).toMatchObject({ resourceVersion: expect.stringMatching(/^\d+$/) });
  expect(tab.of('maps', 'changes').flatMap(({ changes }) => changes!.map(({ type }) => type))).toEqual(['ADDED', 'DELETED']);
  expect(JSON.stringify(tab.messages)).not.toContain('managedFields');
});

test('a list can be selected by labels, and followed under several keys', async () => {
  await create('chosen');
  const tab = await page.tab();
  tab.say({ add: 'some', path, selector: 'own=chosen' });
  tab.say({ add: 'all', path });
  await expect.poll(() => tab.names('some')).toEqual(['chosen']);
  tab.say({ add: 'also', path });
  await expect.poll(() => tab.names('also')).toEqual(tab.names('all'));
  tab.say({ remove: 'all' });
  await create('after-removal');
  await expect.poll(() => tab.names('also')).toContain('after-removal');
  expect(tab.names('all')).not.toContain('after-removal');
  expect(tab.names('some')).toEqual(['chosen']);
});

test('lists that the user may not see, or that make no sense, fail alone and are not asked for again', async () => {
  await page.signIn(reader);
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  tab.say({ add: 'secret', path: secrets });
  tab.say({ add: 'none', path: '/clusters/root/api/v1/nothings' });
  tab.say({ add: 'bad', path: '/version' });
  await expect.poll(() => tab.of('maps', 'list')).toHaveLength(1);
  await expect.poll(() => ['secret', 'none', 'bad'].map((key) => tab.of(key, 'error')[0]?.status?.code)).toEqual([403, 403, 400]);
  await create('still-told');
  await expect.poll(() => tab.names('maps')).toContain('still-told');
  expect(tab.of('secret')).toHaveLength(1);
});

test('a list of a kind that is not there yet comes as soon as the kind is served', async () => {
  const tab = await page.tab();
  tab.say({ add: 'wheels', path: '/clusters/root/apis/example.com/v1/wheels' });
  await expect.poll(() => tab.of('wheels')).toMatchObject([{ type: 'error', status: { code: 404 } }]);
  const spec = {
    group: 'example.com',
    scope: 'Cluster',
    names: { kind: 'Wheel', plural: 'wheels' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  };
  const kind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'wheels.example.com' }, spec };
  await server.call('/clusters/root/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: kind });
  await expect.poll(() => tab.of('wheels', 'list'), { timeout: 20_000 }).toMatchObject([{ items: [] }]);
});

test('a restart of the API server is reported, and nothing that happens meanwhile is missed', async () => {
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.of('maps', 'list')).toHaveLength(1);
  await server.restart();
  await expect.poll(() => tab.upstream).toEqual(['lost', 'restored']);
  await create('after-restart');
  await expect.poll(() => tab.names('maps')).toContain('after-restart');
  expect(tab.closed).toBeUndefined();
});

test('a restart of the console tells the tab to come back, and the session goes on', async () => {
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.of('maps', 'list')).toHaveLength(1);
  await page.restart();
  await expect.poll(() => tab.closed).toBe(1012);
  const again = await page.tab();
  again.say({ add: 'maps', path });
  await expect.poll(() => again.names('maps')).toEqual(tab.names('maps'));
});

test('signing out in one tab ends the streams of all', async () => {
  const tabs = [await page.tab(), await page.tab()];
  await page.ask('/session', { method: 'DELETE' });
  await expect.poll(() => tabs.map(({ closed }) => closed)).toEqual([4401, 4401]);
});

describe('a sample', () => {
  test('comes again and again, until it is removed', async () => {
    const tab = await page.tab();
    tab.say({ add: 'version', sample: '/kube/version', seconds: 2 });
    await expect.poll(() => tab.of('version', 'sample').length).toBeGreaterThan(2);
    expect(tab.of('version')[0]).toMatchObject({ value: { major: '1' } });
    tab.say({ remove: 'version' });
    tab.say({ add: 'ready', sample: '/kube/readyz', seconds: 2 });
    await expect.poll(() => tab.of('ready').length).toBeGreaterThan(1);
    const count = tab.of('version').length;
    await expect.poll(() => tab.of('ready').length).toBeGreaterThan(5);
    expect(tab.of('version')).toHaveLength(count);
    expect(tab.of('ready')[0]).toMatchObject({ value: 'ok' });
  });

  test('that does not exist yet is asked for again, and one that cannot exist is not', async () => {
    const tab = await page.tab();
    tab.say({ add: 'none', sample: '/kube/nowhere', seconds: 2 });
    tab.say({ add: 'evil', sample: '/kube/../session', seconds: 2 });
    tab.say({ add: 'ready', sample: '/kube/readyz', seconds: 2 });
    await expect.poll(() => tab.of('ready').length).toBeGreaterThan(5);
    expect(tab.of('none').length).toBeGreaterThan(1);
    expect(tab.of('none')[0]).toMatchObject({ type: 'error', status: { code: 404 } });
    expect(tab.of('evil')).toMatchObject([{ type: 'error', status: { code: 400 } }]);
  });
});

test('messages that cannot be understood, and too many keys, are refused without harm', async () => {
  const tab = await page.tab();
  tab.say('no json');
  for (let index = 0; index < 12; index++) tab.say({ add: `k${index}`, path });
  await expect.poll(() => tab.of('k9', 'list')).toHaveLength(1);
  await expect.poll(() => tab.messages.filter(({ type }) => type === 'error')).toHaveLength(3);
  expect(tab.messages[0]).toMatchObject({ type: 'error', status: { message: 'expected JSON' } });
  tab.say('x'.repeat(70_000));
  await expect.poll(() => tab.closed).toBe(1009);
});

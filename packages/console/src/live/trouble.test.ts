import type { ServerResponse } from 'node:http';
import { scriptedServer } from '@capstan/client/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConsoleSuite, startSuite } from '../suite/console.ts';

/** Situations of the API server that a real one shows only in trouble. */
let api: Awaited<ReturnType<typeof scriptedServer>>;
let page: ConsoleSuite;
let onWatch: (response: ServerResponse, url: URL) => void;
/** For machines that are busy. */
const patience = { timeout: 10_000 };
const path = '/api/v1/configmaps';

const object = (name: string, version: number, more: object = {}) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: String(version), ...more },
});
const line = (type: string, given: object): string => `${JSON.stringify({ type, object: given })}\n`;
const end = (version: number): string =>
  line('BOOKMARK', {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } },
  });
const failure = (code: number, reason: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  code,
  reason,
  message: reason,
});

beforeEach(async () => {
  api = await scriptedServer((request, response) => {
    const url = new URL(request.url!, 'http://x');
    if (request.method === 'POST') response.end(JSON.stringify({ status: { userInfo: { username: 'jane', groups: [] } } }));
    else if (url.searchParams.get('watch') === 'true') onWatch(response, url);
    else if (url.pathname === '/large') response.end(JSON.stringify('x'.repeat(1 << 20)));
    else response.writeHead(404).end(JSON.stringify(failure(404, 'NotFound')));
  });
  page = await startSuite({
    connection: api.connection,
    limits: { live: { longestWait: 100, waiting: 4 << 20, heartbeat: 3_000, patience: 2_000 } },
  });
  await page.signIn('token');
});
afterEach(async () => {
  await page[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const watches = (): string[] => api.requests.filter((one) => one.includes('watch=true'));

test('a list that several tabs of a session follow is fetched once', async () => {
  onWatch = (response) => void response.write(line('ADDED', object('a', 1)) + end(1));
  const tabs = [await page.tab(), await page.tab()];
  for (const tab of tabs) for (const key of ['one', 'two']) tab.say({ add: key, path });
  for (const tab of tabs) for (const key of ['one', 'two']) await expect.poll(() => tab.names(key), patience).toEqual(['a']);
  expect(watches()).toHaveLength(1);
});

test('lost history means a new list', async () => {
  onWatch = (response, { searchParams }) => {
    if (searchParams.get('sendInitialEvents') !== 'true') response.end(line('ERROR', failure(410, 'Expired')));
    else if (watches().length === 1) response.end(line('ADDED', object('old', 1)) + end(5));
    else response.write(line('ADDED', object('new', 7)) + end(8));
  };
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.of('maps', 'list'), patience).toHaveLength(2);
  expect(tab.names('maps')).toEqual(['new']);
  expect(tab.of('maps', 'error')).toEqual([]);
  expect(tab.upstream).toEqual([]);
});

test('a watch that ends goes on where it was, without a new list', async () => {
  onWatch = (response, { searchParams }) => {
    if (searchParams.get('sendInitialEvents') === 'true') response.end(line('ADDED', object('a', 1)) + end(5));
    else if (searchParams.get('resourceVersion') === '5') response.end(line('ADDED', object('b', 6)));
    else response.write(line('DELETED', object('a', 7)));
  };
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.names('maps'), patience).toEqual(['b']);
  expect(tab.of('maps', 'list')).toHaveLength(1);
});

test('an error of the server is reported once, and the list comes when the server can', async () => {
  let isWell = false;
  onWatch = (response) => {
    if (isWell) response.write(end(1));
    else response.writeHead(500).end(JSON.stringify(failure(500, 'InternalError')));
  };
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => watches().length, patience).toBeGreaterThan(3);
  expect(tab.of('maps', 'error')).toMatchObject([{ status: { code: 500 } }]);
  isWell = true;
  await expect.poll(() => tab.of('maps', 'list'), patience).toHaveLength(1);
});

test('a sample that is too large is an error that says so', async () => {
  const tab = await page.tab();
  tab.say({ add: 'large', sample: '/kube/large', seconds: 2 });
  await expect.poll(() => tab.of('large'), patience).toMatchObject([{ type: 'error', status: { code: 413 } }]);
  expect(tab.of('large')[0]!.status!.message).toContain('at most 1048576');
});

test('changes within a moment come in one message', async () => {
  onWatch = (response) =>
    void response.write(end(1) + Array.from({ length: 500 }, (_, at) => line('ADDED', object(`m${at}`, at + 2))).join(''));
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.names('maps'), patience).toHaveLength(500);
  expect(tab.messages.length).toBeLessThan(20);
});

const tabs = async (): Promise<string | undefined> =>
  /capstan_console_tabs (\d+)/.exec(await (await fetch(`http://127.0.0.1:${page.running.healthPort}/metrics`)).text())?.[1];
const large = { annotations: { filling: 'x'.repeat(1 << 20) } };

test('a list of any size arrives, and only a tab that reads nothing is cut off', async () => {
  let stream: ServerResponse;
  onWatch = (response) => {
    stream = response;
    for (let at = 0; at < 10; at++) response.write(line('ADDED', object(`big-${at}`, at + 1, large)));
    response.write(end(20));
  };
  const [reading, stuck] = [await page.tab(), await page.tab()];
  for (const tab of [reading, stuck]) tab.say({ add: 'maps', path });
  for (const tab of [reading, stuck]) await expect.poll(() => tab.names('maps'), patience).toHaveLength(10);
  stuck.socket.pause();
  // The tab that reads gets each change before the next, however busy the machine is.
  let version = 30;
  while (version < 300 && (await tabs()) !== '1') {
    const seen = reading.messages.length;
    stream!.write(line('MODIFIED', object('big-0', version++, large)));
    await expect.poll(() => reading.messages.length, patience).toBeGreaterThan(seen);
  }
  expect(await tabs()).toBe('1');
  stream!.write(line('ADDED', object('last', version)));
  await expect.poll(() => reading.names('maps'), patience).toContain('last');
  expect(reading.closed).toBeUndefined();
});

test('a tab that no longer answers is cut off', async () => {
  onWatch = (response) => void response.write(end(1));
  const tab = await page.tab();
  tab.say({ add: 'maps', path });
  await expect.poll(() => tab.of('maps', 'list'), patience).toHaveLength(1);
  tab.socket.pause();
  await expect.poll(tabs, patience).toBe('0');
});

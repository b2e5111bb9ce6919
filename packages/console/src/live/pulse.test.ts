import type { ServerResponse } from 'node:http';
import { scriptedServer } from '@capstan/client/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ConsoleLimits } from '../process/console.ts';
import { type ConsoleSuite, startSuite, type TestTab } from '../suite/console.ts';

/** Ends of sessions and servers that an open watch alone does not show. */
let api: Awaited<ReturnType<typeof scriptedServer>>;
let page: ConsoleSuite | undefined;
let answer: (response: ServerResponse) => void;

const accept = (response: ServerResponse): void =>
  void response.end(JSON.stringify({ status: { userInfo: { username: 'jane', groups: [] } } }));
const refuse = (response: ServerResponse): void =>
  void response.writeHead(401).end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', code: 401, reason: 'Unauthorized', message: 'no' }));

beforeEach(async () => {
  answer = accept;
  api = await scriptedServer((request, response) => {
    if (request.method === 'POST') answer(response);
    else if (request.url!.includes('watch=true')) response.write(' ');
    else response.writeHead(404).end('{}');
  });
});
afterEach(async () => {
  await page?.[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

async function openTab(limits: ConsoleLimits): Promise<TestTab> {
  page = await startSuite({ connection: api.connection, limits });
  await page.signIn('token');
  const tab = await page.tab();
  tab.say({ add: 'maps', path: '/api/v1/configmaps' });
  return tab;
}

test('a token that is revoked ends the streams of its tabs, without a request of theirs', async () => {
  const tab = await openTab({ live: { pulse: 20 } });
  const asked = api.requests.length;
  await expect.poll(() => api.requests.length).toBeGreaterThan(asked + 2);
  expect(tab.closed).toBeUndefined();
  answer = refuse;
  await expect.poll(() => tab.closed).toBe(4401);
  expect(tab.reason).toBe('refused');
});

test('a session that expires ends the streams of its tabs at once', async () => {
  const tab = await openTab({ sessions: { age: 300 } });
  await expect.poll(() => tab.closed).toBe(4401);
  expect(tab.reason).toBe('expired');
  expect((await page!.ask('/session')).status).toBe(401);
});

test('a server that hangs is lost since the question that it did not answer, until it answers again', async () => {
  const tab = await openTab({ live: { pulse: 20, answerWithin: 200 } });
  const hanging: ServerResponse[] = [];
  const before = Date.now();
  answer = (response) => void hanging.push(response);
  await expect.poll(() => tab.upstream).toEqual(['lost']);
  const since = Date.parse(tab.messages.find(({ upstream }) => upstream === 'lost')!.since!);
  expect(since).toBeGreaterThanOrEqual(before - 1_000);
  expect(since).toBeLessThanOrEqual(Date.now());
  // A tab that opens meanwhile hears of it too.
  const other = await page!.tab();
  await expect.poll(() => other.upstream).toEqual(['lost']);
  answer = accept;
  await expect.poll(() => tab.upstream).toEqual(['lost', 'restored']);
  expect(tab.closed).toBeUndefined();
});

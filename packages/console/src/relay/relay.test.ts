import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { scriptedServer } from '@capstan/client/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConsoleSuite, startSuite } from '../suite/console.ts';

/** A server behind the console that misbehaves. */
let api: Awaited<ReturnType<typeof scriptedServer>>;
let page: ConsoleSuite;
let cut = 0;
let isEndlessOver = false;

beforeEach(async () => {
  cut = 0;
  api = await scriptedServer((request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/cut' && cut-- > 0) return void request.socket.destroy();
    if (request.url === '/endless') {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(100_000)));
      };
      response.on('drain', write).on('close', () => (isEndlessOver = true));
      return write();
    }
    if (request.url === '/half') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 20);
      return;
    }
    response.setHeader('set-cookie', 'theirs=1').setHeader('location', 'https://evil.example');
    response.end(JSON.stringify({ status: { userInfo: { username: 'jane' } } }));
  });
  page = await startSuite({ connection: api.connection, limits: { relay: { answerWithin: 200, readerPatience: 200 } } });
  await page.signIn('token');
});
afterEach(async () => {
  await page[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const count = (path: string): number => api.requests.filter((one) => one.endsWith(path)).length;

test('a read on a connection that the server has closed meanwhile is sent again, once', async () => {
  await page.ask('/kube/first');
  cut = 1;
  expect(await page.ask('/kube/cut')).toMatchObject({ status: 200 });
  expect(count('/cut')).toBe(2);
  cut = 2;
  await page.ask('/kube/first');
  expect(await page.ask('/kube/cut')).toMatchObject({ status: 503 });
  expect(count('/cut')).toBe(4);
});

test('a write is never sent again', async () => {
  await page.ask('/kube/first');
  cut = 1;
  expect(await page.ask('/kube/cut', { method: 'POST', body: {} })).toMatchObject({ status: 503 });
  expect(await page.ask('/kube/cut', { method: 'DELETE' })).toMatchObject({ status: 200 });
  expect(count('/cut')).toBe(2);
});

test.each(['GET', 'DELETE'])('the body of a %s is never a request of its own for the server', async (method) => {
  const { hostname, port } = new URL(page.url);
  const body = 'GET /smuggled HTTP/1.1\r\nHost: api\r\n\r\n';
  const asked = request({
    host: hostname,
    port,
    method,
    path: '/kube/read',
    agent: false,
    headers: { cookie: page.cookie, origin: page.url, 'x-capstan-console': '1', 'transfer-encoding': 'chunked' },
  }).end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  await page.ask('/kube/last');
  expect(count('/read')).toBe(1);
  expect(count('/last')).toBe(1);
  expect(count('/smuggled')).toBe(0);
});

test('a server that does not answer is not waited for without end', async () => {
  expect(await page.ask('/kube/silent')).toMatchObject({ status: 504, body: { code: 'upstream_timeout' } });
});

test('a reader that does not read is cut off, and the server behind is no longer asked', async () => {
  const { hostname, port } = new URL(page.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET /kube/endless HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${page.cookie}\r\n\r\n`);
  try {
    await expect.poll(() => isEndlessOver).toBe(true);
  } finally {
    socket.destroy();
  }
});

test('an answer that is cut short is cut short for the page too', async () => {
  await expect(page.ask('/kube/half')).rejects.toThrow();
});

test('an answer sets no cookies and leads nowhere', async () => {
  const { headers } = await page.ask('/kube/first');
  expect([headers.get('set-cookie'), headers.get('location')]).toEqual([null, null]);
  expect(api.headers.at(-1)).toMatchObject({ authorization: 'Bearer token', 'user-agent': 'capstan-console' });
  expect(api.headers.at(-1)).not.toHaveProperty('cookie');
});

test.each([
  '/api/v1/app-runtime/instances/k1/kubeconfig',
  '/clusters/root:main/api/v1/app-runtime/instances/k1/%6bubeconfig?server=https%3A%2F%2Fx',
])('a page cannot read the token of its session in %s', async (path) => {
  expect(await page.ask(`/rest${path}`)).toMatchObject({ status: 403 });
  expect(api.requests.some((one) => one.includes('ubeconfig'))).toBe(false);
});

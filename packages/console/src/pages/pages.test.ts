import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { scriptedServer } from '@capstan/client/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleSuite, startSuite } from '../suite/console.ts';

let page: ConsoleSuite;
let directory: string;
let api: Awaited<ReturnType<typeof scriptedServer>>;
const script = 'console.log("hello")'.repeat(10);

beforeAll(async () => {
  api = await scriptedServer((_request, response) => response.end('{}'));
  page = await startSuite({ connection: api.connection });
  directory = join(page.directory, 'pages');
  writeFileSync(join(page.directory, 'secret.txt'), 'secret');
  mkdirSync(join(directory, '.git'));
  writeFileSync(join(directory, '.git/config.txt'), 'secret');
  writeFileSync(join(directory, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(directory, 'assets/main-1a2b.js'), script);
  writeFileSync(join(directory, 'assets/main-1a2b.js.br'), brotliCompressSync(script));
  writeFileSync(join(directory, 'assets/main-1a2b.js.gz'), gzipSync(script));
});
afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

test.each([
  '/',
  '/units/a',
  '/sign-in',
  '/workspaces/root:main?tab=x',
  '/index.html',
  '/.git/config.txt',
  '/secret.txt',
  '/..%2fsecret.txt',
])('%s is the page, with a nonce of its own and scripts from files only', async (path) => {
  const [one, two] = [await page.ask(path), await page.ask(path)];
  expect(one.status).toBe(200);
  const policy = one.headers.get('content-security-policy')!;
  const nonce = /'nonce-([^']+)'/.exec(policy)![1]!;
  expect(one.text).toBe(`<!doctype html><meta name="nonce" content="${nonce}">`);
  expect(two.text).not.toBe(one.text);
  expect(policy).toContain("script-src 'self';");
  for (const part of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
    expect(policy).toContain(part);
  expect(Object.fromEntries(one.headers)).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  });
});

test('files with a hash in their name are kept for good, in the best encoding that the browser knows', async () => {
  for (const [accepted, encoding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', null],
  ] as const) {
    const answer = await page.ask('/assets/main-1a2b.js', { headers: { 'accept-encoding': accepted } });
    expect(answer).toMatchObject({ status: 200, text: script });
    expect(answer.headers.get('content-encoding')).toBe(encoding);
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('vary')).toBe('accept-encoding');
  }
});

test('other files are asked for again, and not sent twice', async () => {
  const answer = await page.ask('/favicon.svg');
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('<svg') });
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  const etag = answer.headers.get('etag')!;
  expect(await page.ask('/favicon.svg', { headers: { 'if-none-match': etag } })).toMatchObject({ status: 304, text: '' });
});

test('a missing file is not a page, and nothing can be changed', async () => {
  expect(await page.ask('/assets/gone-1.js')).toMatchObject({ status: 404 });
  expect(await page.ask('/', { method: 'POST', body: {} })).toMatchObject({ status: 405 });
  expect(await page.ask('/', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
});

test('without pages, the process says what to do', async () => {
  await using bare = await startSuite({ connection: api.connection, pagesDirectory: '/nowhere' });
  expect(await bare.ask('/')).toMatchObject({ status: 503, body: { message: expect.stringContaining('npm run build') } });
});

import { connect } from 'node:net';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accountToken } from '../suite/accounts.ts';
import { adminConnection, type ConsoleSuite, startSuite } from '../suite/console.ts';

let server: TestServer;
let page: ConsoleSuite;
let owner: string;
let reader: string;
const maps = '/clusters/root/api/v1/namespaces/default/configmaps';

beforeAll(async () => {
  server = await startTestServer();
  page = await startSuite({
    connection: adminConnection(server.kubeconfigPath),
    limits: { relay: { body: 10_000, requests: 4 }, headersWithin: 300, requestWithin: 600, socketsPerSession: 3 },
  });
  owner = await accountToken(server, 'owner', { role: 'cluster-admin' });
  reader = await accountToken(server, 'reader', { role: 'view' });
});
afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  page.cookie = '';
});

describe('signing in', () => {
  test('with a token shows who one is, and the browser learns no token', async () => {
    const answer = await page.signIn(owner);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      user: { name: 'system:serviceaccount:default:owner', groups: expect.arrayContaining(['system:authenticated']) },
      home: 'root',
      expiresAt: expect.stringMatching(/^\d{4}-/),
      isPlatformOwner: true,
    });
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(/; HttpOnly; SameSite=Strict; Max-Age=3\d{3}$/)]);
    expect(JSON.stringify([...answer.headers]) + answer.text).not.toContain(owner);
    expect((await page.ask('/session')).body).toEqual(answer.body);
  });

  test('shows that somebody does not own the platform', async () => {
    expect((await page.signIn(reader)).body).toMatchObject({ isPlatformOwner: false, home: 'root' });
  });

  test('with a token that the API server does not accept fails', async () => {
    const answer = await page.signIn('wrong');
    expect(answer).toMatchObject({ status: 401, body: { ways: ['token', 'link'] } });
    expect(page.cookie).toBe('');
  });

  test.each([[{}], [{ token: 1 }], [{ token: 'a b' }], [{ token: '' }], ['no json'], ['[]'], [{ token: 'x'.repeat(40_000) }]])(
    'with %j is refused',
    async (body) => {
      expect(await page.ask('/session', { method: 'POST', body })).toMatchObject({ status: 400 });
    },
  );

  test('with a link works once', async () => {
    const link = await page.ask('/session/links', { method: 'POST', headers: { authorization: `Bearer ${reader}`, origin: '' } });
    expect(link).toMatchObject({ status: 201, body: { code: expect.stringMatching(/^[\w-]{43}$/) } });
    const body = { code: link.body['code'] };
    expect(await page.ask('/session', { method: 'POST', body })).toMatchObject({
      status: 201,
      body: { user: { name: 'system:serviceaccount:default:reader' } },
    });
    page.cookie = '';
    expect(await page.ask('/session', { method: 'POST', body })).toMatchObject({ status: 401 });
    expect(page.cookie).toBe('');
  });

  test('a link needs a valid token, and no page of another origin gets one', async () => {
    const ask = (headers: Record<string, string>) => page.ask('/session/links', { method: 'POST', headers });
    expect(await ask({ origin: '' })).toMatchObject({ status: 401 });
    expect(await ask({ origin: '', authorization: 'Bearer wrong' })).toMatchObject({ status: 401 });
    expect(await ask({ origin: 'https://evil.example', authorization: `Bearer ${owner}` })).toMatchObject({ status: 403 });
    await page.signIn(owner);
    expect(await ask({ origin: '' })).toMatchObject({ status: 401 });
  });

  test('once more ends the former session of the browser', async () => {
    await page.signIn(owner);
    const former = page.cookie;
    await page.signIn(reader);
    expect(await page.ask('/session', { headers: { cookie: former } })).toMatchObject({ status: 401 });
    expect(await page.ask('/session')).toMatchObject({ status: 200 });
  });

  test('survives a restart of the process, and signing out ends it', async () => {
    await page.signIn(owner);
    await page.restart();
    expect(await page.ask('/session')).toMatchObject({ status: 200 });
    const { cookie } = page;
    expect(await page.ask('/session', { method: 'DELETE' })).toMatchObject({ status: 200 });
    expect(page.cookie).toMatch(/=$/);
    expect(await page.ask('/session', { headers: { cookie } })).toMatchObject({ status: 401 });
  });

  test('is over for the page when the token is revoked', async () => {
    await page.signIn(await accountToken(server, 'gone', { role: 'view' }));
    expect(await page.ask(`/kube${maps}`)).toMatchObject({ status: 200 });
    const tab = await page.tab();
    await server.call('/api/v1/namespaces/default/serviceaccounts/gone', { method: 'DELETE' });
    expect(await page.ask(`/kube${maps}`)).toMatchObject({ status: 401 });
    expect(await page.ask('/session')).toMatchObject({ status: 401, body: { ways: ['token', 'link'] } });
    tab.say({ add: 'a', path: maps });
    await expect.poll(() => tab.closed).toBe(4401);
    expect(tab.of('a', 'error')).toMatchObject([{ status: { code: 401 } }]);
  });
});

describe('the relay', () => {
  test('acts as the person who signed in, with exactly their rights', async () => {
    expect(await page.ask(`/kube${maps}`)).toMatchObject({ status: 401 });
    await page.signIn(reader);
    expect(await page.ask(`/kube${maps}?limit=1`)).toMatchObject({ status: 200, body: { kind: 'ConfigMapList' } });
    const body = { metadata: { name: 'a' } };
    expect(await page.ask(`/kube${maps}`, { method: 'POST', body })).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    await page.signIn(owner);
    expect(await page.ask(`/kube${maps}`, { method: 'POST', body })).toMatchObject({ status: 201 });
    const patch = { method: 'PATCH', body: { data: { x: 'y' } }, headers: { 'content-type': 'application/merge-patch+json' } };
    expect(await page.ask(`/kube${maps}/a`, patch)).toMatchObject({ status: 200, body: { data: { x: 'y' } } });
    expect(await page.ask(`/kube${maps}/a`, { method: 'DELETE' })).toMatchObject({ status: 200 });
  });

  test('lets nobody bring credentials of their own', async () => {
    await page.signIn(reader);
    const body = { metadata: { name: 'b' } };
    for (const headers of [{ authorization: `Bearer ${owner}` }, { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' }])
      expect(await page.ask(`/kube${maps}`, { method: 'POST', body, headers })).toMatchObject({
        status: 403,
        body: { reason: 'Forbidden' },
      });
    page.cookie = '';
    expect(await page.ask(`/kube${maps}`, { headers: { authorization: `Bearer ${owner}` } })).toMatchObject({ status: 401 });
  });

  test('changes nothing for a page of another origin', async () => {
    await page.signIn(owner);
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: page.url.replace(/\d+$/, '1') },
      { origin: 'null' },
      { origin: '' },
      { 'x-capstan-console': '' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect(await page.ask(`/kube${maps}`, { method: 'POST', body: { metadata: { name: 'c' } }, headers })).toMatchObject({ status: 403 });
    expect(await page.ask(`/kube${maps}/c`)).toMatchObject({ status: 404 });
  });

  test('answers with data that no browser runs or keeps', async () => {
    await page.signIn(owner);
    const { headers } = await page.ask(`/kube${maps}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': expect.stringMatching(/default-src 'none'.*sandbox/),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    });
    expect(await page.ask(`/kube${maps}`, { headers: { 'sec-fetch-dest': 'document' } })).toMatchObject({ status: 403 });
  });

  test.each(['/kube/../session', '/kube/a/%2e%2E/b', '/kube//evil.example/', '/kube/a\\b', '/kube/./a'])('refuses %s', async (path) => {
    await page.signIn(owner);
    const port = Number(new URL(page.url).port);
    const text = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      let all = '';
      socket.setEncoding('utf8').on('data', (part: string) => (all += part));
      socket.on('close', () => resolve(all));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${page.cookie}\r\nConnection: close\r\n\r\n`);
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('bounds bodies, whatever they say about their length', async () => {
    await page.signIn(owner);
    const body = JSON.stringify({ metadata: { name: 'large' }, data: { x: 'x'.repeat(10_000) } });
    expect(await page.ask(`/kube${maps}`, { method: 'POST', body })).toMatchObject({ status: 413 });
    const chunked = await fetch(`${page.url}/kube${maps}`, {
      method: 'POST',
      headers: { origin: page.url, 'x-capstan-console': '1', cookie: page.cookie, 'content-type': 'application/json' },
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit).then(
      ({ status }) => status,
      () => 'cut',
    );
    expect([413, 'cut']).toContain(chunked);
    expect(await page.ask(`/kube${maps}/large`)).toMatchObject({ status: 404 });
  });

  test('streams, bounds how many requests of a session run at once, and ends them with the session', async () => {
    await page.signIn(owner);
    const watches = await Promise.all(
      [1, 2, 3, 4].map(() => fetch(`${page.url}/kube${maps}?watch=true`, { headers: { cookie: page.cookie } })),
    );
    expect(watches.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await page.ask(`/kube${maps}`)).toMatchObject({ status: 429 });
    const ends = watches.map((watch) => watch.text().catch(() => 'cut'));
    await page.ask('/session', { method: 'DELETE' });
    expect(await Promise.all(ends)).toEqual(['cut', 'cut', 'cut', 'cut']);
  });
});

describe('WebSockets', () => {
  const refusalOf = (path: string, options?: Parameters<ConsoleSuite['socket']>[1]): Promise<number> =>
    new Promise((resolve) => {
      const socket = page.socket(path, options);
      socket.on('open', () => resolve(101));
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    });

  test('of another origin are refused, even with the cookie', async () => {
    await page.signIn(owner);
    const headers = { origin: 'http://127.0.0.1:1' };
    expect(await refusalOf('/live', { headers })).toBe(403);
    expect(await refusalOf('/kube/api/v1/namespaces/default/pods/a/exec', { headers })).toBe(403);
    expect(await refusalOf('/live', { headers: { host: 'evil.example', origin: 'http://evil.example' } })).toBe(421);
  });

  test('need a session, and an address', async () => {
    expect(await refusalOf('/live')).toBe(401);
    await page.signIn(owner);
    expect(await refusalOf('/nothing')).toBe(404);
    expect(await refusalOf('/live')).toBe(101);
  });

  test('to the API server carry the token, and its refusals come back', async () => {
    await page.signIn(reader);
    const path = '/kube/clusters/root/api/v1/namespaces/default/pods/a/exec?command=sh&stdout=true';
    expect(await refusalOf(path, { protocols: ['v5.channel.k8s.io'] })).toBe(403);
    await page.signIn(owner);
    expect(await refusalOf(path, { protocols: ['v5.channel.k8s.io'] })).toBe(404);
  });

  test('are bounded for each session', async () => {
    await page.signIn(owner);
    expect(await Promise.all([1, 2, 3].map(() => refusalOf('/live')))).toEqual([101, 101, 101]);
    expect(await refusalOf('/live')).toBe(429);
  });
});

describe('a hostile client', () => {
  const raw = (bytes: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(page.url).port), '127.0.0.1');
      let text = '';
      socket.setEncoding('utf8').on('data', (part: string) => (text += part));
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
      socket.write(bytes);
    });

  test.each([
    ['another host', 'GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n', 421],
    ['a full address', 'GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n', 400],
    ['a long address', `GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`, 414],
    ['large headers', `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['half a request', 'GET / HTTP/1.1\r\nHost:', 408],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n', 405],
  ])('with %s is refused', async (_what, bytes, code) => {
    expect(await raw(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
  });

  test('leaves no token, code or cookie in the log', async () => {
    await page.signIn(owner);
    await page.ask('/kube/nowhere');
    expect(page.log.join('\n')).not.toMatch(new RegExp(`${owner}|${page.cookie}`));
  });
});

import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adminConnection, type ConsoleSuite, startSuite } from '../suite/console.ts';
import { clientId, startProvider, type TestProvider } from '../suite/provider.ts';
import { Flows, pageOf } from './flows.ts';

let provider: TestProvider;
let server: TestServer;
let page: ConsoleSuite;

beforeAll(async () => {
  provider = await startProvider();
  server = await startTestServer({
    oidc: [{ issuerUrl: provider.issuer, clientIds: [clientId], usernamePrefix: 'sso:', authorities: provider.authority, audiences: [] }],
  });
  page = await startSuite({
    connection: adminConnection(server.kubeconfigPath),
    oidc: { issuer: provider.issuer, clientId, clientSecret: 'hush', scopes: ['email'], authority: provider.authority },
  });
});
afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(() => {
  page.cookie = '';
  Object.assign(provider, { mood: 'kind', lifetime: 3_600, odd: {} });
});

/** A browser that is sent to the provider. */
async function begin(query = ''): Promise<{ readonly address: string; readonly cookie: string }> {
  const answer = await page.ask(`/session/oidc${query}`, { headers: { origin: '', 'sec-fetch-site': 'none' } });
  expect(answer.status).toBe(302);
  const [set = ''] = answer.headers.getSetCookie();
  expect(set).toMatch(/^capstan-console-\d+-oidc=[\w-]{43}; Path=\/session\/oidc; HttpOnly; SameSite=Lax; Max-Age=600$/);
  return { address: answer.headers.get('location')!, cookie: set.split(';')[0]! };
}

/** The same browser on its way back. Resolves with where it is led, and whether it is signed in then. */
async function comeBack(back: URL, cookie: string): Promise<{ readonly location: string; readonly session: string | undefined }> {
  const answer = await page.ask(back.pathname + back.search, { headers: { origin: '', cookie, 'sec-fetch-site': 'cross-site' } });
  expect(answer.status).toBe(302);
  const session = answer.headers.getSetCookie().find((one) => one.includes('SameSite=Strict'));
  return { location: answer.headers.get('location')!, session: session?.split(';')[0] };
}

test('somebody signs in at the provider, and is who the API server says', async () => {
  expect((await page.ask('/session')).body).toMatchObject({ ways: ['token', 'link', 'oidc'] });
  const { address, cookie } = await begin('?page=/units/a');
  const { searchParams } = new URL(address);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    tenant: '1',
    response_type: 'code',
    client_id: clientId,
    redirect_uri: `${page.url}/session/oidc/callback`,
    scope: 'openid email',
    code_challenge_method: 'S256',
  });
  const back = await comeBack(provider.consent(address), cookie);
  expect(back.location).toBe('/units/a');
  page.cookie = back.session!;
  expect((await page.ask('/session')).body).toMatchObject({ user: { name: 'sso:jane' }, isPlatformOwner: false });
  expect(provider.asked.at(-1)!.get('client_secret')).toBe('hush');
});

describe('nobody is signed in', () => {
  test('with a code that another browser got, or twice', async () => {
    const [mine, theirs] = [await begin(), await begin()];
    const back = provider.consent(theirs.address);
    expect(await comeBack(back, mine.cookie)).toEqual({ location: '/sign-in?trouble=expired', session: undefined });
    expect(await comeBack(back, '')).toMatchObject({ session: undefined });
    expect(await comeBack(back, theirs.cookie)).toMatchObject({ location: '/', session: expect.any(String) });
    expect(await comeBack(back, theirs.cookie)).toMatchObject({ location: '/sign-in?trouble=expired', session: undefined });
  });

  test('with a token for another nonce, client or issuer', async () => {
    for (const odd of [{ nonce: 'other' }, { aud: 'other' }, { iss: 'https://evil.example' }]) {
      provider.odd = odd;
      const { address, cookie } = await begin();
      expect(await comeBack(provider.consent(address), cookie)).toEqual({ location: '/sign-in?trouble=provider', session: undefined });
    }
  });

  test('with a token that the API server does not accept', async () => {
    provider.odd = { exp: 1 };
    const { address, cookie } = await begin();
    expect(await comeBack(provider.consent(address), cookie)).toEqual({ location: '/sign-in?trouble=refused', session: undefined });
  });

  test('who said no at the provider, or whose provider is broken', async () => {
    const { address, cookie } = await begin();
    const back = provider.consent(address);
    const code = back.searchParams.get('code')!;
    back.searchParams.delete('code');
    back.searchParams.set('error', 'access_denied');
    expect(await comeBack(back, cookie)).toMatchObject({ location: '/sign-in?trouble=denied', session: undefined });
    provider.mood = 'broken';
    const again = await begin();
    const broken = provider.consent(again.address);
    expect(await comeBack(broken, again.cookie)).toMatchObject({ location: '/sign-in?trouble=provider', session: undefined });
    expect(page.log.join('\n')).toContain('answered 500');
    for (const secret of [code, broken.searchParams.get('code')!, 'hush']) expect(page.log.join('\n')).not.toContain(secret);
  });
});

describe('a token that expires', () => {
  const signIn = async (): Promise<void> => {
    const { address, cookie } = await begin();
    page.cookie = (await comeBack(provider.consent(address), cookie)).session!;
  };

  test('is renewed, once for all requests and also after a restart', async () => {
    provider.lifetime = 30;
    await signIn();
    const before = provider.asked.length;
    provider.lifetime = 3_600;
    const answers = await Promise.all([1, 2, 3].map(() => page.ask('/kube/version')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(provider.asked.slice(before).map((form) => form.get('grant_type'))).toEqual(['refresh_token']);
    await page.restart();
    expect((await page.ask('/session')).body).toMatchObject({ user: { name: 'sso:jane' } });
    expect(provider.asked).toHaveLength(before + 1);
  });

  test('is used on while the provider is out of reach', async () => {
    provider.lifetime = 30;
    await signIn();
    provider.mood = 'broken';
    expect(await page.ask('/kube/version')).toMatchObject({ status: 200 });
  });

  test('ends the session if the provider refuses another one', async () => {
    provider.lifetime = 30;
    await signIn();
    const tab = await page.tab();
    provider.mood = 'refusing';
    await page.ask('/kube/version');
    expect(await page.ask('/session')).toMatchObject({ status: 401 });
    await expect.poll(() => tab.closed).toBe(4401);
  });
});

test('the page that follows is one of the console', () => {
  for (const good of ['/', '/units/a?tab=log', '/w/root:main:a']) expect(pageOf(good)).toBe(good);
  for (const bad of [
    null,
    '',
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/a\r\nb',
    `/${'a'.repeat(3_000)}`,
  ])
    expect(pageOf(bad)).toBe('/');
});

test('flows end, and the oldest make room', () => {
  let time = 0;
  const flows = new Flows(() => time);
  const [late, first] = [flows.begin('r', '/'), flows.begin('r', '/')];
  time = 600_000;
  expect(flows.finish(late.state, late.browser)).toBeUndefined();
  for (let at = 0; at < 1_000; at++) flows.begin('r', '/');
  expect(flows.finish(first.state, first.browser)).toBeUndefined();
  const last = flows.begin('r', '/');
  expect(flows.finish(last.state, last.browser)).toMatchObject({ nonce: last.nonce });
});

test('without a provider there is no such way', async () => {
  await using bare = await startSuite({ connection: adminConnection(server.kubeconfigPath) });
  expect(await bare.ask('/session/oidc')).toMatchObject({ status: 404 });
});

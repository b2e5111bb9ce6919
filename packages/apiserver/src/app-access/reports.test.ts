import type { KubeObject } from '@capstan/machinery';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Agent, callAs, createPlatform, enrolled } from '../node-agents/testing/fleet.ts';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';
import { AppsOfTenants, appsIn } from './testing/apps.ts';

let server: TestServer;
let apps: AppsOfTenants;
const tokens: Record<string, string> = {};
const agents: Record<string, Agent> = {};
const accounts = '/clusters/root:platform/api/v1/namespaces/apps/serviceaccounts';
const page = '/capstan/app-reports/tenant1/default';

async function tokenOf(account: string, audiences: readonly string[] = ['capstan-app-reports']): Promise<string> {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences } };
  const made = await apps.write(`${accounts}/${account}/token`, request);
  return (made as KubeObject & { readonly status: { readonly token: string } }).status.token;
}

async function createAccount(uid: string): Promise<string> {
  await apps.write(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: uid } });
  return `capstan-app.${await tokenOf(uid)}`;
}

beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  apps = new AppsOfTenants(server);
  await apps.write('/clusters/root:platform/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
  await apps.createProject('tenant1');
  await apps.bind('tenant1');
  await apps.served('tenant1');
  for (const name of ['k8s', 'other', 'busy', 'gone']) tokens[name] = await createAccount(await apps.createInstance('tenant1', name));
  await apps.createMember('tenant1', 'n1', {}, 'failed');
  await apps.createMember('tenant1', 'n2', { instance: 'other' });
  await apps.createMember('tenant1', 'lost', { node: 'n3' });
  for (const node of ['n1', 'n2']) await apps.book(node);
  for (const node of ['n1', 'n2', 'n3']) agents[node] = await enrolled(server, node);
});
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

const as = (token: string) => ({ anonymous: true, headers: { authorization: `Bearer ${token}` } });
const report = (path: string, body: unknown, token = tokens['k8s']!): Promise<Reply> =>
  server.call(`${page}/${path}`, { method: 'POST', body, ...as(token) });
const statusOf = async (path: string): Promise<Record<string, unknown>> =>
  (JSON.parse((await server.call(`${appsIn('tenant1')}/${path}`)).text) as { status: Record<string, unknown> }).status;
const health = { healthy: true, detail: { role: 'server' } };

describe('reports of an instance', () => {
  test('appear in its status with their source, time and end, and change nothing else', async () => {
    const body = { phase: 'bootstrapping', progress: { completed: 2, total: 5 }, message: 'two of five servers' };
    const reply = await report('k8s', body);
    expect([reply.code, reply.headers['cache-control']]).toEqual([200, 'no-store']);
    const { reported, ...rest } = await statusOf('appinstances/k8s');
    expect(reported).toMatchObject({ ...body, source: 'account' });
    const { reportedAt, expiresAt } = reported as { readonly reportedAt: string; readonly expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(reportedAt)).toBe(300_000);
    expect(JSON.parse(reply.text)).toEqual({ expiresAt });
    expect(rest).toMatchObject({ state: 'running' });
  });

  test('never make a member healthy that the platform has seen broken', async () => {
    expect((await report('k8s/members/n1', health)).code).toBe(200);
    expect(await statusOf('appmembers/n1')).toMatchObject({ health: 'failed', reported: { ...health, source: 'account' } });
  });

  test('are not stored again while they say the same', async () => {
    const read = async () => (await server.call(`${appsIn('tenant1')}/appmembers/n1`)).json().metadata.resourceVersion;
    await report('k8s/members/n1', health);
    const before = await read();
    expect((await report('k8s/members/n1', health)).code).toBe(200);
    expect(await read()).toBe(before);
    expect((await report('k8s/members/n1', { healthy: false })).code).toBe(200);
    expect(await read()).not.toBe(before);
  });

  test('are answered with a new token in the second half of the life of the old one', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 45 * 60_000 });
    const { token, tokenExpiresAt } = JSON.parse((await report('k8s', { phase: 'ready' })).text) as Record<string, string>;
    expect(Date.parse(tokenExpiresAt!)).toBeGreaterThan(Date.now() + 59 * 60_000);
    expect((await report('k8s', { phase: 'ready' }, token)).code).toBe(200);
  });
});

describe('a reporter', () => {
  test.each([
    ['of another instance', () => tokens['other']!, 'k8s', { phase: 'a' }, 403],
    ['of another instance, on a member', () => tokens['other']!, 'k8s/members/n1', health, 403],
    ['on an instance that does not exist', () => tokens['k8s']!, 'nothing', { phase: 'a' }, 403],
    ['on a member of another instance', () => tokens['k8s']!, 'k8s/members/n2', health, 404],
    ['without the prefix of its token', () => tokens['k8s']!.slice('capstan-app.'.length), 'k8s', { phase: 'a' }, 401],
    ['with a token that was changed', () => `${tokens['k8s']!.slice(0, -4)}AAAA`, 'k8s', { phase: 'a' }, 401],
  ])('%s is refused', async (...[, token, path, body, code]) => {
    expect((await report(path, body, token())).code).toBe(code);
  });

  test('with a token for another audience, or of an account elsewhere, is refused', async () => {
    const { uid = '' } = (await server.call(`${appsIn('tenant1')}/appinstances/k8s`)).json().metadata;
    expect((await report('k8s', { phase: 'a' }, `capstan-app.${await tokenOf(uid, [])}`)).code).toBe(401);
    const own = '/clusters/tenant1/api/v1/namespaces';
    await apps.write(own, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
    await apps.write(`${own}/apps/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: uid } });
    const spec = { audiences: ['capstan-app-reports'] };
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    const made = await apps.write(`${own}/apps/serviceaccounts/${uid}/token`, request);
    const { token } = (made as KubeObject & { readonly status: { readonly token: string } }).status;
    expect((await report('k8s', { phase: 'a' }, `capstan-app.${token}`)).code).toBe(401);
  });

  test('with an expired token is refused', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 3_600_000 });
    expect((await report('k8s', { phase: 'a' })).code).toBe(401);
  });

  test('is refused once its account is deleted', async () => {
    expect((await report('gone', { phase: 'a' }, tokens['gone']!)).code).toBe(200);
    const { uid } = (await server.call(`${appsIn('tenant1')}/appinstances/gone`)).json().metadata;
    await server.call(`${accounts}/${uid}`, { method: 'DELETE' });
    expect((await report('gone', { phase: 'a' }, tokens['gone']!)).code).toBe(401);
  });

  test('may not put its token into the query', async () => {
    const { code, text } = await server.call(`${page}/k8s?token=${tokens['k8s']}`, {
      method: 'POST',
      anonymous: true,
      body: { phase: 'a' },
    });
    expect([code, text.includes(tokens['k8s']!)]).toEqual([400, false]);
    expect((await report(`k8s?access_token=${tokens['k8s']}`, { phase: 'a' })).code).toBe(400);
  });

  test('may do nothing else with its token', async () => {
    for (const path of [`${appsIn('tenant1')}/appinstances/k8s`, '/api', accounts, '/clusters/tenant1/api/v1/secrets'])
      expect([path, (await server.call(path, as(tokens['k8s']!))).code]).toEqual([path, 403]);
    expect((await server.call(`${page}/k8s`, as(tokens['k8s']!))).code).toBe(403);
  });

  test('is nobody else, not even the administrator or somebody who acts for the account', async () => {
    const { uid } = (await server.call(`${appsIn('tenant1')}/appinstances/k8s`)).json().metadata;
    const post = { method: 'POST', body: { phase: 'a' } };
    expect((await server.call(`${page}/k8s`, post)).code).toBe(403);
    const headers = { 'impersonate-user': `system:capstan-app-account:${uid}`, 'impersonate-group': 'system:capstan-app-accounts' };
    expect((await server.call(`${page}/k8s`, { ...post, headers })).code).toBe(403);
  });

  test('must wait after ten reports at once', async () => {
    const replies = await Promise.all(Array.from({ length: 14 }, () => report('busy', { phase: 'a' }, tokens['busy']!)));
    const refused = replies.find(({ code }) => code === 429);
    expect(replies.some(({ code }) => code === 200)).toBe(true);
    expect(refused?.headers['retry-after']).toBe('1');
  });
});

describe('agents', () => {
  const post = (body: object) => ({ method: 'POST', body });

  test('report on members on their own nodes, and on their instances', async () => {
    expect((await callAs(server, agents['n1']!, `${page}/k8s/members/n1`, post({ healthy: false }))).code).toBe(200);
    expect(await statusOf('appmembers/n1')).toMatchObject({ reported: { healthy: false, source: 'agent/n1' } });
    expect((await callAs(server, agents['n1']!, `${page}/k8s`, post({ phase: 'agent' }))).code).toBe(200);
    expect(await statusOf('appinstances/k8s')).toMatchObject({ reported: { phase: 'agent', source: 'agent/n1' } });
  });

  test.each([
    ['a member on another node', 'n2', 'k8s/members/n1', health],
    ['an instance without a member on their node', 'n2', 'k8s', { phase: 'a' }],
    ['a member whose node is not booked for the instance', 'n3', 'k8s/members/lost', health],
    ['a member that does not exist', 'n1', 'k8s/members/nothing', health],
  ])('may not report on %s', async (_, agent, path, body) => {
    expect((await callAs(server, agents[agent]!, `${page}/${path}`, post(body))).code).toBe(403);
  });
});

describe('a report', () => {
  test('that is wrong is refused, with the names of the wrong fields', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 20 * 60_000 });
    const { code, text } = await report('k8s', { progress: {}, state: 'running' });
    const { details } = JSON.parse(text) as { readonly details?: { readonly causes?: readonly { readonly field: string }[] } };
    const fields = ['phase', 'progress.completed', 'progress.total', 'state'];
    expect([code, details?.causes?.map(({ field }) => field).sort()]).toEqual([422, fields]);
    expect((await report('k8s', { phase: 'a', message: 'x'.repeat(20_000) })).code).toBe(413);
  });
});

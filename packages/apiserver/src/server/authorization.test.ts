import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuthorizerSetting } from '../authz/configuration.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';

interface Spec {
  readonly user: string;
  readonly extra: Record<string, string[]>;
  readonly resourceAttributes?: { readonly verb: string; readonly resource: string; readonly name?: string };
  readonly nonResourceAttributes?: { readonly path: string };
}

let webhook: Server;
let answer: (spec: Spec) => object | 'nothing' = () => ({ allowed: false });
const asked: Spec[] = [];

beforeAll(async () => {
  webhook = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const { spec } = JSON.parse(text) as { spec: Spec };
      asked.push(spec);
      const status = answer(spec);
      if (status === 'nothing') return;
      response.end(JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status }));
    });
  });
  await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
});
afterAll(() => webhook.close().closeAllConnections());

const setting = (more: Partial<AuthorizerSetting> = {}): AuthorizerSetting =>
  ({
    type: 'Webhook',
    name: 'policy',
    timeout: 5_000,
    version: 'v1',
    failurePolicy: 'NoOpinion',
    allowedLifetime: 0,
    otherLifetime: 0,
    conditions: [],
    connection: { url: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`, credentials: () => ({}) },
    ...more,
  }) as AuthorizerSetting;
const jane = { authorization: 'Bearer jane-token' };
const tokens = 'jane-token,jane,1,"people"\n';
const configMaps = '/api/v1/namespaces/default/configmaps';

describe('a webhook before the roles', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({
      tokens,
      authorization: { order: [{ type: 'AlwaysAllowPaths' }, setting(), { type: 'RBAC' }], alwaysAllowPaths: ['/livez'] },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const call = (path: string, more: object = {}) => server.call(path, { anonymous: true, headers: jane, ...more });

  it('lets in whom no role lets in, and knows the workspace', async () => {
    answer = () => ({ allowed: true });
    asked.length = 0;
    expect((await call(configMaps)).code).toBe(200);
    expect(asked).toMatchObject([
      {
        user: 'jane',
        resourceAttributes: { verb: 'list', resource: 'configmaps' },
        extra: { 'authorization.kubernetes.io/cluster-name': ['root'] },
      },
    ]);
  });

  it('refuses what roles would allow, with its reason', async () => {
    answer = () => ({ allowed: false, denied: true, reason: 'not on a Sunday' });
    const reply = await call('/version');
    expect(reply.code).toBe(403);
    expect(reply.text).toContain('not on a Sunday');
  });

  it('leaves to roles what it has no opinion about', async () => {
    answer = () => ({ allowed: false });
    expect([(await call('/version')).code, (await call(configMaps)).code]).toEqual([200, 403]);
  });

  it('is not asked about paths that come before it, nor about masters', async () => {
    answer = () => ({ allowed: false, denied: true });
    asked.length = 0;
    expect((await call('/livez')).code).toBe(200);
    expect((await server.call(configMaps)).code).toBe(200);
    expect(asked).toEqual([]);
  });

  it('is asked whom a user may be', async () => {
    answer = ({ user, resourceAttributes }) => ({
      allowed: user === 'joe' || (resourceAttributes?.verb === 'impersonate' && resourceAttributes.name === 'joe'),
    });
    expect((await call(configMaps, { headers: { ...jane, 'impersonate-user': 'joe' } })).code).toBe(200);
    expect((await call(configMaps, { headers: { ...jane, 'impersonate-user': 'boss' } })).code).toBe(403);
  });

  it('is asked what a SubjectAccessReview asks', async () => {
    answer = ({ user, resourceAttributes }) =>
      user === 'joe' && resourceAttributes?.resource === 'pods'
        ? { allowed: true, reason: 'fine' }
        : { allowed: false, denied: true, reason: 'no' };
    const review = async (resource: string): Promise<unknown> => {
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: { user: 'joe', resourceAttributes: { verb: 'get', resource } },
      };
      return (await server.call('/apis/authorization.k8s.io/v1/subjectaccessreviews', { method: 'POST', body })).json()['status'];
    };
    expect(await review('pods')).toEqual({ allowed: true, reason: 'fine' });
    expect(await review('secrets')).toEqual({ allowed: false, denied: true, reason: 'no' });
  });

  it('that keeps silent holds up nobody else', async () => {
    answer = ({ resourceAttributes }) => (resourceAttributes?.resource === 'secrets' ? 'nothing' : { allowed: true });
    const ends = new AbortController();
    const waiting = call('/api/v1/namespaces/default/secrets').finally(() => ends.abort());
    const others = await Promise.all(Array.from({ length: 20 }, () => call(configMaps)));
    expect(new Set(others.map(({ code }) => code))).toEqual(new Set([200]));
    expect(ends.signal.aborted).toBe(false);
    const reply = await waiting;
    expect([reply.code, reply.text]).toEqual([500, expect.stringContaining('no answer within 5 s')]);
  });
});

describe('a webhook that is not there', () => {
  const gone = { url: 'http://127.0.0.1:1/', credentials: () => ({}) };

  it('is told to the client and in the log, once for many; what roles allow is allowed', async () => {
    const said: string[] = [];
    await using server = await startTestServer({
      tokens,
      log: (line) => said.push(line),
      authorization: { order: [setting({ connection: gone }), { type: 'RBAC' }] },
    });
    const call = (path: string) => server.call(path, { anonymous: true, headers: jane });
    const why = 'authorization webhook "policy": Post "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused';
    for (let times = 0; times < 3; times++) {
      const reply = await call(configMaps);
      expect([reply.code, reply.text]).toEqual([500, `Internal Server Error: ${JSON.stringify(configMaps)}: ${why}\n`]);
    }
    expect(said.filter((line) => line.includes('webhook'))).toEqual([why]);
    expect((await call('/version')).code).toBe(200);
  });

  it('means that nobody may, with the policy Deny', async () => {
    await using server = await startTestServer({
      tokens,
      authorization: { order: [setting({ connection: gone, failurePolicy: 'Deny' }), { type: 'RBAC' }] },
    });
    expect((await server.call('/version', { anonymous: true, headers: jane })).code).toBe(500);
    expect((await server.call('/version')).code).toBe(200);
  });
});

it('after the roles, a webhook opens no workspace that is not there', async () => {
  answer = () => ({ allowed: true });
  await using server = await startTestServer({ tokens, authorization: { order: [{ type: 'RBAC' }, setting()] } });
  const call = (path: string) => server.call(path, { anonymous: true, headers: jane });
  expect((await call(configMaps)).code).toBe(200);
  expect((await call('/clusters/nowhere/api/v1/configmaps')).code).toBe(403);
  expect((await call('/clusters/*/api/v1/configmaps')).code).toBe(403);
});

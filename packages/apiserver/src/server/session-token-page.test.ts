import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionTokenPath } from '@capstan/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const path = `/clusters/root${sessionTokenPath}`;

test('the holder of a certificate gets a token for the same user', async () => {
  const reply = await server.call(path, { method: 'POST', body: {} });
  expect(reply).toMatchObject({ code: 201, headers: { 'cache-control': 'no-store' } });
  const { token } = reply.json() as unknown as { token: string };
  const headers = { authorization: `Bearer ${token}` };
  const me = await server.call(reviews, { method: 'POST', body: review, anonymous: true, headers });
  expect(me.json()).toMatchObject({
    status: { userInfo: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] } },
  });
  expect(readFileSync(join(server.directory, 'audit.log'), 'utf8')).not.toContain(token);
  // A token is not a way to get tokens that live longer.
  expect(await server.call(path, { method: 'POST', body: {}, anonymous: true, headers })).toMatchObject({ code: 400 });
});

test('nobody else does', async () => {
  expect(await server.call(path, { method: 'POST', body: {}, anonymous: true })).toMatchObject({ code: 403 });
  expect(await server.call(path)).toMatchObject({ code: 405 });
  expect(await server.call(path, { method: 'POST', body: {}, headers: { 'impersonate-user': 'jane' } })).toMatchObject({ code: 400 });
  expect(await server.call(path, { method: 'POST', body: { expirationSeconds: 1e9 } })).toMatchObject({ code: 400 });
});

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const secrets = '/api/v1/namespaces/default/secrets';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const group = 'rbac.authorization.k8s.io';
  const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ apiGroup: group, kind: 'Group', name: 'system:serviceaccounts' }];
  await server.call(`/apis/${group}/v1/clusterrolebindings`, { method: 'POST', body: { metadata: { name: 'all' }, roleRef, subjects } });
});
afterAll(() => server[Symbol.asyncDispose]());

const create = (path: string, name: string) => server.call(path, { method: 'POST', body: { metadata: { name } } });

async function tokenOf(account: string, spec: object = {}): Promise<string> {
  await create(accounts, account);
  const { status } = (await server.call(`${accounts}/${account}/token`, { method: 'POST', body: { spec } })).json() as unknown as {
    status: { token: string };
  };
  return status.token;
}

/** A watch with a token. */
async function watch(token: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  const outgoing = request(`${server.url}/api/v1/configmaps?watch=true`, { headers, ca: server.identity.ca, agent: false }).end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(incoming.statusCode).toBe(200);
  return incoming.on('error', () => {}).resume();
}

/** The server cuts it, which is an error of the response. */
const ended = (incoming: IncomingMessage): Promise<void> => new Promise((resolve) => incoming.once('close', () => resolve()));

test('a watch ends when the account of its token is deleted, and those of others go on', async () => {
  const [bot, other] = [await watch(await tokenOf('bot')), await watch(await tokenOf('other'))];
  await server.call(`${accounts}/bot`, { method: 'DELETE' });
  await ended(bot);
  expect(other.closed).toBe(false);
  other.destroy();
});

test('a watch ends when the Secret that its token is bound to is deleted', async () => {
  await create(secrets, 'key');
  const bound = await watch(await tokenOf('bound', { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'key' } }));
  await server.call(`${secrets}/key`, { method: 'DELETE' });
  await ended(bound);
});

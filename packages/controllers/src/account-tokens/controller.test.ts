import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { gone, makeNamespace, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { accountTokenController } from './controller.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
const reviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews', namespaced: false };
const make = () => accountTokenController({ authority: 'PEM', concurrency: undefined });

let cluster: TestCluster;
let namespace = '';
let namespaces = 0;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
  namespace = `tokens-${++namespaces}`;
  await makeNamespace(cluster.client, namespace);
});

const makeAccount = (name: string) =>
  cluster.client.resource(accounts).in(namespace).create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
const makeSecret = (name: string, account: string, type = 'kubernetes.io/service-account-token') =>
  cluster.client
    .resource(secrets)
    .in(namespace)
    .create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
      type,
    } as KubeObject);

/** The data of the secret, once it has a token. */
async function filled(name: string): Promise<Record<string, string>> {
  return vi.waitFor(
    async () => {
      const data = ((await cluster.client.resource(secrets).in(namespace).get(name))['data'] ?? {}) as Record<string, string>;
      expect(data['token']).toBeTruthy();
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
    },
    { timeout: 20_000, interval: 20 },
  );
}

async function userOf(token: string): Promise<unknown> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token } } as KubeObject;
  const { status } = (await cluster.client.resource(reviews).create(body)) as unknown as { status: { user?: { username?: string } } };
  return status.user?.username;
}

test('fills a secret with a token that is valid as long as the secret', async () => {
  await using _ = cluster.run(make());
  await makeAccount('builder');
  await makeSecret('builder-token', 'builder');
  const data = await filled('builder-token');
  expect(data).toEqual({ 'ca.crt': 'PEM', namespace, token: expect.any(String) });
  expect(await userOf(data['token']!)).toBe(`system:serviceaccount:${namespace}:builder`);
  await cluster.client.resource(secrets).in(namespace).delete('builder-token');
  expect(await userOf(data['token']!)).toBeUndefined();
});

test('deletes the tokens of a deleted account, and nothing else', async () => {
  await makeAccount('leaving');
  await makeAccount('staying');
  const held = cluster.client.resource(secrets).in(namespace);
  {
    await using _ = cluster.run(make());
    for (const [name, account] of [
      ['one', 'leaving'],
      ['two', 'leaving'],
      ['other', 'staying'],
    ] as const) {
      await makeSecret(name, account);
      await filled(name);
    }
  }
  await makeSecret('notes', 'leaving', 'Opaque');
  // A controller that starts later notices the deletion.
  await cluster.client.resource(accounts).in(namespace).delete('leaving');
  await makeAccount('leaving');
  await using _ = cluster.run(make());
  await gone(held, 'one');
  await gone(held, 'two');
  expect((await held.list()).items.map(({ metadata }) => metadata.name)).toEqual(['notes', 'other']);
  await cluster.client.resource(accounts).in(namespace).delete('staying');
  await gone(held, 'other');
});

test('deletes a secret for an account that does not exist', async () => {
  await using _ = cluster.run(make());
  await makeSecret('lost', 'nobody');
  await gone(cluster.client.resource(secrets).in(namespace), 'lost');
});

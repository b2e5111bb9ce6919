import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, type Credential, connectionOf, loadKubeconfig } from '@capstan/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { accountTokens } from './account-tokens.ts';

/** The machine may be busy. */
const patiently = { timeout: 15_000 };

const serviceAccounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const reviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews', namespaced: false };
const hour = 3_600_000;

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

async function makeAccount(name: string) {
  await client.resource(serviceAccounts).create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'kube-system' } });
  let now = Date.now();
  const writes = vi.spyOn(client, 'json');
  const credentials = accountTokens({ client, account: { namespace: 'kube-system', name }, now: () => now });
  return { credentials, requests: () => writes.mock.calls.length, pass: (milliseconds: number) => (now += milliseconds) };
}

test('authenticates as the account, with one request for all that wait', async () => {
  const { credentials, requests } = await makeAccount('one');
  const before = requests();
  const [first, second] = await Promise.all([credentials.current(), credentials.current()]);
  expect(first).toBe(second);
  expect(requests() - before).toBe(1);
  const { certificate: _, ...connection } = { certificate: undefined, ...client.connection };
  using account = new Client({ ...connection, credentials });
  const review = await account
    .resource(reviews)
    .create({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} });
  expect(review).toMatchObject({ status: { userInfo: { username: 'system:serviceaccount:kube-system:one' } } });
});

test('renews the token in the background before it expires', async () => {
  const { credentials, pass } = await makeAccount('two');
  const first = (await credentials.current()) as Credential;
  pass(hour / 2);
  expect(credentials.current()).toBe(first);
  pass(hour / 4);
  expect(credentials.current()).toBe(first);
  await vi.waitFor(() => expect(credentials.current()).not.toBe(first), patiently);
});

test('keeps the token as long as it works if it cannot be renewed, and fails once it has expired', async () => {
  const { credentials, requests, pass } = await makeAccount('three');
  const first = await credentials.current();
  await client.resource(serviceAccounts).delete({ namespace: 'kube-system', name: 'three' });
  pass((hour * 3) / 4);
  const before = requests();
  expect(credentials.current()).toBe(first);
  await vi.waitFor(() => expect(requests()).toBe(before + 1), patiently);
  // It does not ask with every request.
  expect([credentials.current(), credentials.current(), requests()]).toEqual([first, first, before + 1]);
  pass(hour / 4);
  await expect(credentials.current()).rejects.toMatchObject({ code: 404 });
});

test('asks for another token if the server refuses one', async () => {
  const { credentials } = await makeAccount('four');
  const first = (await credentials.current()) as Credential;
  credentials.refused?.(first);
  expect(await credentials.current()).not.toBe(first);
});

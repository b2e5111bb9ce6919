import { StoreError } from '@capstan/store';
import { expect, test, vi } from 'vitest';
import { startTestServer } from '../testing/harness.ts';
import { reportTroubles } from './troubles.ts';

test('a store that fails takes a line at its beginning and one at its end', async () => {
  const log: string[] = [];
  const store: { failure: StoreError | undefined } = { failure: undefined };
  using _ = reportTroubles({ store, log: (line) => log.push(line), every: 1 });
  store.failure = new StoreError('unavailable', 'etcd does not answer');
  await vi.waitFor(() => expect(log).toEqual([expect.stringContaining('the store fails: etcd does not answer')]));
  store.failure = new StoreError('unavailable', 'etcd does not answer at all');
  await new Promise((resolve) => setTimeout(resolve, 20));
  store.failure = undefined;
  await vi.waitFor(() => expect(log.slice(1)).toEqual(['the store works again after 0s']));
});

test('tokens that are rejected are told of by their reason', async () => {
  const log: string[] = [];
  await using server = await startTestServer({ log: (line) => log.push(line) });
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = (iss: string): string =>
    `${part({ alg: 'ES256', kid: 'theirs' })}.${part({ iss })}.${Buffer.alloc(64).toString('base64url')}`;
  const ask = async (bearer: string): Promise<number> =>
    (await server.call('/api', { anonymous: true, headers: { authorization: `Bearer ${bearer}` } })).code;
  for (let times = 0; times < 20; times++) {
    expect(await ask(token('https://kubernetes.default.svc.cluster.local'))).toBe(401);
    expect(await ask(token('https://elsewhere.example'))).toBe(401);
    expect(await ask('guess')).toBe(401);
  }
  expect(log).toEqual([
    'rejected a token from 127.0.0.1: signed by an unknown key, such as that of another installation',
    'rejected a token from 127.0.0.1: of an issuer that is not configured here',
    'rejected a token from 127.0.0.1: not known here',
  ]);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const path = '/api/v1/namespaces/lists/configmaps';
const names = (reply: { json(): { items?: { metadata: { name?: string } }[] } }): (string | undefined)[] =>
  reply.json().items!.map(({ metadata }) => metadata.name);
let revision = '';

beforeAll(async () => {
  server = await startTestServer();
  await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'lists' } } });
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const made = await server.call(path, { method: 'POST', body: { metadata: { name, labels: { vowel: String('ae'.includes(name)) } } } });
    revision = made.json().metadata.resourceVersion!;
  }
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a list', () => {
  test('is ordered by name, and its items have neither kind nor version', async () => {
    const reply = await server.call(path);
    expect(names(reply)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(reply.json().kind).toBe('ConfigMapList');
    expect(Object.keys(reply.json().items![0]!)).not.toContain('kind');
  });

  test('in pages shows a consistent state, whatever happens in between', async () => {
    const first = await server.call(`${path}?limit=2`);
    const { continue: token, remainingItemCount, resourceVersion } = first.json().metadata as Record<string, unknown>;
    expect([names(first), remainingItemCount]).toEqual([['a', 'b'], 3]);
    await server.call(`${path}/c`, { method: 'DELETE' });
    await server.call(path, { method: 'POST', body: { metadata: { name: 'bb' } } });
    await server.call(`${path}/d`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { new: 'x' } },
    });
    const second = await server.call(`${path}?limit=10&continue=${token as string}`);
    expect(names(second)).toEqual(['c', 'd', 'e']);
    expect(second.json().items![1]!['data']).toBeUndefined();
    expect(second.json().metadata.resourceVersion).toBe(resourceVersion);
    await server.call(`${path}/bb`, { method: 'DELETE' });
    await server.call(path, { method: 'POST', body: { metadata: { name: 'c' } } });
  });

  test('at an exact revision shows that revision', async () => {
    await server.call(path, { method: 'POST', body: { metadata: { name: 'later' } } });
    expect(names(await server.call(`${path}?resourceVersion=${revision}&resourceVersionMatch=Exact`))).toEqual(['a', 'b', 'c', 'd', 'e']);
    await server.call(`${path}/later`, { method: 'DELETE' });
  });

  test('at a revision before a restart is read from the store', async () => {
    await server.restart();
    expect(names(await server.call(`${path}?resourceVersion=${revision}&resourceVersionMatch=Exact`))).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('with a selector and a limit counts only matching objects', async () => {
    const reply = await server.call(`${path}?labelSelector=vowel%3Dtrue&limit=1`);
    expect(names(reply)).toEqual(['a']);
    expect(reply.json().metadata).not.toHaveProperty('remainingItemCount');
    const next = await server.call(
      `${path}?labelSelector=vowel%3Dtrue&limit=1&continue=${(reply.json().metadata as Record<string, string>)['continue']}`,
    );
    expect(names(next)).toEqual(['e']);
  });

  test('at a future revision is rejected with the reason that clients expect', async () => {
    const reply = await server.call(`${path}?resourceVersion=99999999`);
    expect(reply.code).toBe(504);
    expect(reply.json()['details']).toMatchObject({ causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 });
  });
});

test('a paginated list expires with its history, and the error says how to continue', async () => {
  await using forgetful = await startTestServer({ compactionInterval: 50 });
  await forgetful.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'lists' } } });
  const write = (name: string): Promise<unknown> => forgetful.call(path, { method: 'POST', body: { metadata: { name } } });
  for (const name of ['a', 'b', 'c']) await write(name);
  const first = await forgetful.call(`${path}?limit=2`);
  const next = `${path}?limit=2&continue=${(first.json().metadata as Record<string, string>)['continue']}`;
  let reply = await forgetful.call(next);
  for (let more = 0; reply.code === 200; more++) {
    await write(`d${more}`);
    reply = await forgetful.call(next);
  }
  expect([reply.code, reply.json().reason]).toEqual([410, 'Expired']);
  const token = (reply.json().metadata as Record<string, string>)['continue'];
  expect(names(await forgetful.call(`${path}?limit=2&continue=${token}`))).toEqual(['c', 'd0']);
});

test('a paginated list expires even without writes, but a new one does not', async () => {
  await using forgetful = await startTestServer({ compactionInterval: 100 });
  await forgetful.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'lists' } } });
  for (const name of ['a', 'b']) await forgetful.call(path, { method: 'POST', body: { metadata: { name } } });
  const first = async (): Promise<string> =>
    ((await forgetful.call(`${path}?limit=1`)).json().metadata as Record<string, string>)['continue']!;
  const token = await first();
  await expect.poll(async () => (await forgetful.call(`${path}?continue=${token}`)).code).toBe(410);
  expect(names(await forgetful.call(`${path}?continue=${await first()}`))).toEqual(['b']);
});

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Artifact } from '@capstan/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, callAs, createPlatform, enrolled } from '../node-agents/testing/fleet.ts';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';
import { Relays } from '../tunnels/relays.ts';
import { ArtifactStore } from './store.ts';

let server: TestServer;
let agent: Agent;
beforeAll(async () => {
  server = await startTestServer({ artifacts: { artifact: 4 << 20, total: 6 << 20 } });
  await createPlatform(server);
  await createWorkspace(server, 'tenant1');
  agent = await enrolled(server, 'n1');
});
afterAll(() => server[Symbol.asyncDispose]());

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const content = randomBytes(1 << 20);
const sha256 = hashOf(content);
const half = content.length / 2;

const put = (bytes: Buffer, { offset = 0, size = bytes.length, hash = hashOf(bytes), name = 'file.tar.gz' } = {}) =>
  server.call(`/capstan/artifacts/${hash}?offset=${offset}&size=${size}&name=${name}`, { method: 'PUT', body: bytes });
const list = async (): Promise<Artifact[]> => (await server.call('/capstan/artifacts')).json().artifacts as Artifact[];
const stored = (): string[] => readdirSync(join(server.directory, 'artifacts')).sort();

describe('an upload', () => {
  test('may come in parts, each of which may be repeated', async () => {
    const whole = { size: content.length, hash: sha256 };
    expect((await put(content.subarray(0, half), whole)).text).toBe(JSON.stringify({ size: half, complete: false }));
    // The answer was lost, or the client has forgotten how far it was.
    expect((await put(content.subarray(0, half), whole)).text).toBe(JSON.stringify({ size: half, complete: false }));
    expect((await put(content.subarray(half + 1), { ...whole, offset: half + 1 })).text).toBe(
      JSON.stringify({ size: half, complete: false }),
    );
    expect(await list()).toEqual([]);
    expect((await server.call(`/capstan/artifacts/${sha256}`)).code).toBe(404);
    expect((await put(content.subarray(half), { ...whole, offset: half })).text).toBe(
      JSON.stringify({ size: content.length, complete: true }),
    );
    expect((await put(content.subarray(0, 10), whole)).text).toBe(JSON.stringify({ size: content.length, complete: true }));
    expect(await list()).toEqual([{ sha256, name: 'file.tar.gz', size: content.length, addedAt: expect.any(String) }]);
    expect(stored()).toEqual([sha256, `${sha256}.json`]);
  });

  test('with another hash is discarded', async () => {
    const hash = 'b'.repeat(64);
    const reply = await put(Buffer.from('other'), { hash });
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringContaining(hashOf(Buffer.from('other')))]);
    expect(stored()).toEqual([sha256, `${sha256}.json`]);
  });

  test.each([
    ['beyond its size', { size: 1 }, 400],
    ['beyond the limit of one artifact', { size: 5 << 20 }, 413],
    ['without a size', { size: -1 }, 400],
    ['with a name that is none', { name: '..%2Fx' }, 400],
    ['with a hash that is none', { hash: 'x'.repeat(64) }, 400],
    ['with a hash that leads elsewhere', { hash: '..%2Fpki%2Fca.crt' }, 400],
  ])('%s is refused', async (_, options, code) => {
    expect((await put(Buffer.from('abc'), options)).code).toBe(code);
    expect(stored()).toEqual([sha256, `${sha256}.json`]);
  });

  test('must fit with the others, and says what to do', async () => {
    const large = randomBytes(3 << 20);
    expect((await put(large, { name: 'large' })).code).toBe(200);
    const reply = await put(Buffer.alloc(1), { size: 3 << 20, hash: 'c'.repeat(64) });
    expect([reply.code, reply.json().message]).toEqual([413, expect.stringContaining('capstan artifact remove')]);
    expect((await server.call(`/capstan/artifacts/${hashOf(large)}`, { method: 'DELETE' })).code).toBe(200);
    expect((await list()).map(({ name }) => name)).toEqual(['file.tar.gz']);
    expect((await server.call(`/capstan/artifacts/${hashOf(large)}`, { method: 'DELETE' })).code).toBe(404);
  });
});

describe('an artifact', () => {
  test('is served to agents, also in part', async () => {
    const path = `/capstan/artifacts/${sha256}`;
    expect((await callAs(server, agent, path)).code).toBe(200);
    const whole = await server.call(path);
    expect(whole.headers).toMatchObject({ 'content-length': String(content.length), etag: `"${sha256}"`, 'accept-ranges': 'bytes' });
    expect(whole.body.equals(content)).toBe(true);
    const rest = await server.call(path, { headers: { range: `bytes=${half}-` } });
    expect(rest.code).toBe(206);
    expect(rest.body.equals(content.subarray(half))).toBe(true);
    expect((await server.call(path, { headers: { range: `bytes=${content.length}-` } })).code).toBe(416);
  });

  test('is not for everybody, and not in the workspaces of tenants', async () => {
    expect((await server.call(`/capstan/artifacts/${sha256}`, { anonymous: true })).code).toBe(403);
    expect((await server.call(`/clusters/tenant1/capstan/artifacts/${sha256}`)).code).toBe(404);
    expect((await server.call('/clusters/tenant1/capstan/artifacts')).code).toBe(404);
    expect((await server.call(`/capstan/artifacts/${sha256}`, { method: 'POST', body: {} })).code).toBe(405);
    for (const name of ['x', '..%2Fpki%2Fca.key', `${sha256}.json`])
      expect((await server.call(`/capstan/artifacts/${name}`)).code).toBe(404);
  });
});

describe('another API server', () => {
  const pem = (name: string): string => readFileSync(join(server.directory, 'pki', name), 'utf8');
  const forever = new AbortController().signal;
  const relaysTo = (others: TestServer) =>
    new Relays({
      others: () => [{ name: 'a', url: others.url }],
      tls: () => ({ ca: pem('ca.crt'), cert: pem('apiserver-client.crt'), key: pem('apiserver-client.key') }),
    });

  test('reads, lists and removes artifacts', async () => {
    await using relays = relaysTo(server);
    const found = await relays.artifact(sha256, half, forever);
    expect(found?.size).toBe(content.length);
    expect((await buffer(found!.body)).equals(content.subarray(half))).toBe(true);
    expect(await relays.artifact('d'.repeat(64), 0, forever)).toBeUndefined();
    expect(await relays.artifacts(forever)).toEqual(await list());
    const bytes = Buffer.from('short');
    await put(bytes);
    expect(await relays.removeArtifact(hashOf(bytes), forever)).toBe(true);
    expect(await relays.removeArtifact(hashOf(bytes), forever)).toBe(false);
    expect(existsSync(join(server.directory, 'artifacts', hashOf(bytes)))).toBe(false);
  });
});

test('an upload that was abandoned makes way', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-artifacts-'));
  try {
    let now = Date.now();
    const store = new ArtifactStore({ directory, limits: { total: 100 }, now: () => new Date(now) });
    const bytes = Buffer.alloc(60);
    const part = { name: 'x', offset: 0, bytes, size: 60 };
    await store.append('e'.repeat(64), { ...part, size: 90 });
    await expect(store.append(hashOf(bytes), part)).rejects.toMatchObject({ code: 413 });
    now += 25 * 3_600_000;
    expect(await store.append(hashOf(bytes), part)).toEqual({ size: 60, complete: true });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

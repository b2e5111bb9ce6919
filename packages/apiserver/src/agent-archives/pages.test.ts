import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rangeOf } from '../http/send-file.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-agent-archives-'));
const content = Buffer.alloc(3 << 20, 'agent ');
const sha256 = createHash('sha256').update(content).digest('hex');
let server: TestServer;
let prepared = 0;

beforeAll(async () => {
  const prepare = async (): Promise<void> => {
    prepared++;
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'x64.tar.gz'), content);
    const archive = { platform: 'linux-x64', version: '0.1.0+abc', sha256, size: content.length, unpackedSize: 9, file: 'x64.tar.gz' };
    writeFileSync(join(directory, 'linux-x64.json'), JSON.stringify(archive));
  };
  server = await startTestServer({ agentArchives: { directory, prepare }, version: '0.1.0' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => server.call(path, { anonymous: true, headers });
const path = '/capstan/agent/linux-x64.tar.gz';

describe('the archive of the agent', () => {
  test('is built when somebody first asks, once', async () => {
    expect(prepared).toBe(0);
    const replies = await Promise.all([get('/capstan/agent/linux-x64.json'), get('/capstan/agent/install.sh'), get(path)]);
    expect(replies.map(({ code }) => code)).toEqual([200, 200, 200]);
    expect(prepared).toBe(1);
    expect(JSON.parse(replies[0]!.text)).toEqual({
      platform: 'linux-x64',
      version: '0.1.0+abc',
      sha256,
      size: content.length,
      unpackedSize: 9,
    });
    expect(replies[1]!.text).toContain(`sha256=${sha256} size=${content.length}`);
  });

  test('is sent with its length and its hash as ETag, to everybody', async () => {
    const reply = await get(path);
    expect(reply.headers).toMatchObject({ 'content-length': String(content.length), etag: `"${sha256}"`, 'accept-ranges': 'bytes' });
    expect(reply.body.equals(content)).toBe(true);
    expect((await get(path, { 'if-none-match': `"${sha256}"` })).code).toBe(304);
  });

  test('can be resumed', async () => {
    const rest = await get(path, { range: 'bytes=1000000-' });
    expect(rest.code).toBe(206);
    expect(rest.headers['content-range']).toBe(`bytes 1000000-${content.length - 1}/${content.length}`);
    expect(rest.body.equals(content.subarray(1_000_000))).toBe(true);
    expect((await get(path, { range: `bytes=${content.length}-` })).code).toBe(416);
    expect((await get(path, { range: 'bytes=10-', 'if-range': '"another"' })).code).toBe(200);
  });

  test('nothing else is served below its path, and nothing is written', async () => {
    for (const other of ['/capstan/agent/', '/capstan/agent/x', '/capstan/agent/../snapshot', '/capstan/agent/linux-x64'])
      expect((await get(other)).code).toBeGreaterThanOrEqual(403);
    expect((await server.call(path, { anonymous: true, method: 'POST', body: {} })).code).toBe(403);
    expect((await server.call(path, { method: 'POST', body: {} })).code).toBe(405);
    expect(await get('/capstan/agent/linux-arm64.tar.gz')).toMatchObject({ code: 404, text: expect.stringContaining('--arch arm64') });
  });
});

test('the authority is served by its hash, as the bytes that are hashed', async () => {
  const certificate = new X509Certificate(server.identity.ca);
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  const reply = await get(`/capstan/authority/${fingerprint}`);
  expect(reply.code).toBe(200);
  expect(reply.body.equals(certificate.raw)).toBe(true);
  expect(await get(`/capstan/authority/${'0'.repeat(64)}`)).toMatchObject({ code: 404, text: expect.stringContaining(fingerprint) });
});

test('a server without an archive says why', async () => {
  const prepare = (): Promise<void> => Promise.reject(new Error('no Node here'));
  await using other = await startTestServer({ agentArchives: { directory: join(directory, 'none'), prepare } });
  const reply = await other.call('/capstan/agent/install.sh', { anonymous: true });
  expect(reply).toMatchObject({ code: 503, text: expect.stringContaining('no Node here') });
});

test.each([
  [undefined, undefined],
  ['bytes=0-', { first: 0, last: 99 }],
  ['bytes=10-19', { first: 10, last: 19 }],
  ['bytes=-10', { first: 90, last: 99 }],
  ['bytes=-1000', { first: 0, last: 99 }],
  ['bytes=50-1000', { first: 50, last: 99 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=20-10', 'unsatisfiable'],
  ['bytes=-', undefined],
  ['bytes=1-2,4-5', undefined],
  ['lines=1-2', undefined],
])('the range %j of 100 bytes is %j', (header, expected) => {
  expect(rangeOf(header, 100)).toEqual(expected);
});

import { join } from 'node:path';
import type { GPUNode } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, enrolled, renewed } from '@capstan/apiserver/testing-fleet';
import { ensurePki, readRotation } from '@capstan/pki';
import { temporaryDirectory } from '@capstan/testbed';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { authorityStatus, retire, takeStep } from './authority.ts';
import { nodeWithout, serverWithout } from './old-authority.ts';

const patience = { timeout: 20_000, interval: 20 };
let server: TestServer;
const lines: string[] = [];
let printed = '';
beforeAll(async () => {
  server = await startTestServer({ log: (line) => void lines.push(line) });
  await createPlatform(server);
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

const flags = () => ({ dataDir: server.directory });
const followed = (phase: string) =>
  vi.waitFor(() => expect(lines.splice(0).join('\n')).toContain(`the authority is in the phase ${phase}`), patience);

async function status(): Promise<string> {
  printed = '';
  await authorityStatus(flags());
  return printed;
}

test('retires the old authority only when no node and no server uses it', async () => {
  const agent = await enrolled(server, 'gpu-1');
  expect(await status()).toMatch(
    /^Phase +standby\nSigns +CN=kubernetes, SHA-256 [0-9a-f]{64}, until .*\nNext +capstan authority prepare\n$/,
  );
  await expect(retire(flags())).rejects.toMatchObject({ reason: 'usage', message: expect.stringContaining('the next step is prepare') });
  await takeStep('prepare', flags());
  expect(printed).toContain(`copy ${join(server.directory, 'pki', 'rotation.json')} into the pki folder of each`);
  await followed('prepare');
  expect(await status()).toMatch(/Phase +prepare, since .*\nSigns +CN=kubernetes, .*\nTrusted too +CN=kubernetes-[0-9a-f]{8}, /);
  await takeStep('switch', flags());
  await followed('switch');
  await vi.waitFor(async () => expect(await status()).not.toContain('API server'), patience);
  expect(await status()).toContain('These still use the old authority:\n  node gpu-1, last renewed 20');
  await expect(retire(flags())).rejects.toMatchObject({ reason: 'notRenewed', message: expect.stringContaining('node gpu-1') });
  expect((await readRotation(join(server.directory, 'pki'))).phase).toBe('switch');
  await renewed(server, agent);
  expect(await status()).toContain('No node and no API server uses the old authority.');
  await retire(flags());
  await followed('standby');
});

test('does not retire an authority without asking the server, unless forced', async () => {
  using directory = temporaryDirectory('authority');
  const stopped = { dataDir: directory.path };
  await ensurePki(directory.join('pki'));
  await takeStep('prepare', stopped);
  await takeStep('switch', stopped);
  await expect(retire(stopped)).rejects.toMatchObject({ reason: 'notRunning', message: expect.stringContaining('or use --force') });
  printed = '';
  await authorityStatus(stopped);
  expect(printed).toContain('The server cannot be asked who still uses the old authority');
  await retire({ ...stopped, force: true });
  await expect(takeStep('rollback', stopped)).rejects.toMatchObject({ reason: 'usage' });
});

test('names the data directory if it has no authority', async () => {
  using directory = temporaryDirectory('authority');
  await expect(authorityStatus({ dataDir: directory.path })).rejects.toMatchObject({ reason: 'usage' });
});

const identity = { generation: 1, currentKey: 'c', enrollment: 'e', renewedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-02T00:00:00Z' };
test.each([
  ['that was never enrolled', undefined, []],
  ['from before the first rotation', identity, ['node n, last renewed 2026-01-01T00:00:00Z']],
  ['below another authority', { ...identity, authority: 'old' }, ['node n, last renewed 2026-01-01T00:00:00Z']],
  ['below the new authority', { ...identity, authority: 'new' }, []],
  ['that is locked', { ...identity, locked: { reason: 'r', at: '2026-01-01T00:00:00Z' } }, []],
])('a node %s is listed or not', (_, held, expected) => {
  expect(nodeWithout('new', { metadata: { name: 'n' }, status: { identity: held } } as GPUNode)).toEqual(expected);
});

test.each([
  ['that has switched', { 'capstan.dev/authority': 'new' }, 39, []],
  [
    'that is behind',
    { 'capstan.dev/authority': 'old', 'capstan.dev/authority-phase': 'prepare' },
    39,
    ['API server https://a, which is in the phase prepare'],
  ],
  ['of an older version', { 'capstan.dev/authority': 'old' }, 39, ['API server https://a, which is in the phase standby']],
  ['that is gone', { 'capstan.dev/authority': 'old' }, 41, []],
])('an API server %s is listed or not', (_, annotations, seconds, expected) => {
  const spec = { renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 40 };
  const lease = { apiVersion: 'v1', kind: 'Lease', metadata: { annotations: { 'capstan.dev/url': 'https://a', ...annotations } }, spec };
  expect(serverWithout('new', lease, Date.parse(spec.renewTime) + seconds * 1000)).toEqual(expected);
});

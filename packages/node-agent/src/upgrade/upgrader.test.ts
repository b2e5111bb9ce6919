import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GPUNode } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runAgent } from '../agent.ts';
import { buildArchive } from '../archive/archive.ts';
import { prefixVariable } from './launcher.ts';
import type { WantedAgent } from './upgrader.ts';

const patience = { timeout: 15_000, interval: 20 };
const directory = mkdtempSync(join(tmpdir(), 'capstan-upgrader-'));
const archives = join(directory, 'archives');
const platform = `linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}` as const;
let server: TestServer;
let prefix: string;
let made = 0;

beforeAll(async () => {
  mkdirSync(join(directory, 'bundle'));
  server = await startTestServer({ agentArchives: { directory: archives } });
  await createPlatform(server);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  prefix = join(directory, `prefix-${++made}`);
  mkdirSync(join(prefix, 'versions/0.1.0+one'), { recursive: true });
  symlinkSync('versions/0.1.0+one', join(prefix, 'current'));
});

/** Offers an archive whose program is a shell script that only knows its version. */
async function offer(build: string, version = '0.1.0'): Promise<void> {
  const program = join(directory, `node-${build}`);
  writeFileSync(program, `#!/bin/sh\necho capstan ${version}+${build}\n`);
  await buildArchive(archives, { platform, version, build, bundle: join(directory, 'bundle'), runtime: { program } });
}

interface Running extends AsyncDisposable {
  readonly ended: Promise<'stopped' | 'restart'>;
  readonly upgraded: () => Promise<readonly [string, string, string] | undefined>;
}

/** Runs an agent of the version that `current` points to, on a node that should have another. */
async function run(agent: WantedAgent, version = '0.1.0+one'): Promise<Running> {
  const node = `node-${made}`;
  const stop = new AbortController();
  const stateDirectory = join(directory, node);
  const isKnown = (await server.call(`${fleetPath}/gpunodes/${node}`)).code === 200;
  const ended = runAgent({
    ...{ stateDirectory, version, handlers: {}, signal: stop.signal, backoff: { base: 10, max: 50 }, limits: { grace: 50 } },
    ...{ heartbeatInterval: 50, serversInterval: 100, upgradeInterval: 50, log: () => {} },
    ...(isKnown ? {} : { join: { server: server.url, token: await invite(server, node), authorityHash: authorityHash() } }),
    environment: { [prefixVariable]: prefix },
  });
  const getNode = async (): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/${node}`)).json() as GPUNode;
  await vi.waitFor(async () => expect((await getNode()).status?.machine?.agentVersion).toBe(version), patience);
  const headers = { 'content-type': 'application/merge-patch+json' };
  await server.call(`${fleetPath}/gpunodes/${node}`, { method: 'PATCH', headers, body: { spec: { agent } } });
  return {
    ended,
    upgraded: async () => {
      const found = (await getNode()).status?.conditions?.find(({ type }) => type === 'Upgraded');
      return found && [found.status, found.reason, found.message];
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

const authorityHash = (): string => certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
const current = (): string => readlinkSync(join(prefix, 'current'));

describe('an agent that the control plane installed', () => {
  test('changes to the version that an owner wants, and asks to be started again', async () => {
    await offer('two');
    await using agent = await run({ version: '0.1.0+two' });
    expect(await agent.ended).toBe('restart');
    expect(current()).toBe('versions/0.1.0+two');
    expect(readFileSync(join(prefix, 'trial'), 'utf8')).toBe('0.1.0+two\n');
    expect(readFileSync(join(prefix, 'previous'), 'utf8')).toBe('0.1.0+one\n');
  });

  test('confirms itself when it has reported, and is up to date', async () => {
    writeFileSync(join(prefix, 'trial'), '0.1.0+one\n');
    await using agent = await run({ version: '0.1.0+one' });
    await vi.waitFor(
      async () => expect(await agent.upgraded()).toEqual(['True', 'Upgraded', 'the agent was upgraded to 0.1.0+one']),
      patience,
    );
    expect(() => readFileSync(join(prefix, 'trial'))).toThrow();
  });

  test('stays if nobody offers the version', async () => {
    await offer('two');
    await using agent = await run({ version: '0.1.0+three' });
    await vi.waitFor(async () => expect((await agent.upgraded())?.slice(0, 2)).toEqual(['False', 'NotOffered']), patience);
    expect(current()).toBe('versions/0.1.0+one');
  });

  test('does not start a version again that was given up, until somebody asks again', async () => {
    await offer('two');
    writeFileSync(join(prefix, 'failed'), '0.1.0+two\nended with the exit code 1\n');
    writeFileSync(join(prefix, 'request'), 'Manual 0.1.0+two 2026-01-01T00:00:00Z\n');
    const wanted = { version: '0.1.0+two', requestedAt: '2026-01-01T00:00:00Z' };
    {
      await using agent = await run(wanted);
      const message = 'the version 0.1.0+two ended with the exit code 1; 0.1.0+one runs again';
      await vi.waitFor(async () => expect(await agent.upgraded()).toEqual(['False', 'NotReady', message]), patience);
    }
    await using again = await run({ ...wanted, requestedAt: '2026-01-02T00:00:00Z' });
    expect(await again.ended).toBe('restart');
  });

  test('follows the control plane if it may, and never back', async () => {
    await offer('two');
    {
      await using agent = await run({ upgrades: 'Automatic' });
      expect(await agent.ended).toBe('restart');
    }
    rmSync(join(prefix, 'trial'));
    // Another server still offers the version before.
    await offer('one');
    {
      await using agent = await run({ upgrades: 'Automatic', requestedAt: '2026-01-01T00:00:00Z' }, '0.1.0+two');
      await vi.waitFor(async () => expect((await agent.upgraded())?.slice(0, 2)).toEqual(['True', 'UpToDate']), patience);
    }
    await offer('old', '0.0.9');
    await using agent = await run({ upgrades: 'Automatic', requestedAt: '2026-01-02T00:00:00Z' }, '0.1.0+two');
    await vi.waitFor(async () => expect((await agent.upgraded())?.[2]).toContain('0.0.9+old'), patience);
    expect(current()).toBe('versions/0.1.0+two');
  });
});

import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GPUNode } from '@capstan/api';
import { startTestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint, type RotationAction, readRotation, rotate } from '@capstan/pki';
import { expect, test, vi } from 'vitest';
import { runAgent } from './agent.ts';
import type { JoinOptions } from './identity/membership.ts';
import type { Identity } from './identity/state.ts';

const patience = { timeout: 30_000, interval: 20 };

/** The fleet of a test: a server, and machines with a folder each. Certificates live for seconds, so that agents renew them all the time. */
async function startFleet(nodeCertificateLifetime: number) {
  const folders = mkdtempSync(join(tmpdir(), 'capstan-rotation-'));
  const lines: string[] = [];
  const server = await startTestServer({ nodeCertificateLifetime, log: (line) => void lines.push(line) });
  await createPlatform(server);
  const pki = join(server.directory, 'pki');
  const authority = (): string => readFileSync(join(pki, 'ca.crt'), 'utf8');
  const stored = (node: string): Identity => JSON.parse(readFileSync(join(folders, node, 'identity.json'), 'utf8')) as Identity;
  const joining = async (node: string, authorityHash = certificateFingerprint(authority())) => ({
    server: server.url,
    token: await invite(server, node),
    authorityHash,
  });
  return {
    server,
    authority,
    stored,
    joining,
    getNode: async (node: string): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/${node}`)).json() as GPUNode,
    step: async (action: RotationAction): Promise<void> => {
      lines.length = 0;
      const { phase } = await rotate(pki, action, new Date());
      await vi.waitFor(() => expect(lines).toContain(`the authority is in the phase ${phase}`), patience);
    },
    phase: async () => (await readRotation(pki)).phase,
    /** Starts the agent of a node and waits for its tunnel. */
    async start(node: string, joins?: JoinOptions) {
      const stop = new AbortController();
      const own: string[] = [];
      const ended = runAgent({
        stateDirectory: join(folders, node),
        handlers: {},
        signal: stop.signal,
        backoff: { base: 10, max: 50 },
        limits: { grace: 50 },
        heartbeatInterval: 50,
        serversInterval: 100,
        units: { drivers: [] },
        log: (line) => void own.push(line),
        join: joins,
      }).catch((error: unknown) => error);
      await vi.waitFor(() => expect(own.join('\n')).toContain('is open'), patience);
      return {
        lines: own,
        async [Symbol.asyncDispose]() {
          stop.abort();
          expect(await ended).toBe('stopped');
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(folders, { recursive: true, force: true });
    },
  };
}

const blocks = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
/** Whether the second certificate of an identity, its signer's, is below the authority. */
const isBelow = ({ certificate }: Identity, authority: string): boolean =>
  new X509Certificate(certificate.slice(certificate.indexOf('-----END') + 25)).verify(new X509Certificate(authority).publicKey);

test('an agent that renews goes through all phases, and one that slept through prepare recovers before retire', async () => {
  await using fleet = await startFleet(4_000);
  const { authority, stored, step } = fleet;
  await (await fleet.start('sleeper', await fleet.joining('sleeper')))[Symbol.asyncDispose]();
  const early = await fleet.joining('late');
  await using agent = await fleet.start('awake', await fleet.joining('awake'));
  const old = authority();
  await step('prepare');
  await vi.waitFor(() => expect(blocks(stored('awake').authority)).toBe(2), patience);
  expect(isBelow(stored('awake'), old)).toBe(true);
  await step('switch');
  await vi.waitFor(() => expect(isBelow(stored('awake'), authority())).toBe(true), patience);
  const before = (await fleet.getNode('sleeper')).status?.identity?.authority;
  await using _sleeper = await fleet.start('sleeper');
  await vi.waitFor(() => expect(isBelow(stored('sleeper'), authority())).toBe(true), patience);
  expect((await fleet.getNode('sleeper')).status?.identity?.authority).not.toBe(before);
  // A join command from before the rotation still works.
  await using _late = await fleet.start('late', early);
  await step('retire');
  await vi.waitFor(() => expect(stored('awake').authority).toBe(authority()), patience);
  await vi.waitFor(() => expect(stored('sleeper').authority).toBe(authority()), patience);
  expect(agent.lines.join('\n')).not.toContain('refused');
  expect((await fleet.getNode('awake')).status?.identity?.locked).toBeUndefined();
});

test('an agent whose certificate a rollback abandons renews it', async () => {
  // Long enough that only the refusal makes it renew.
  await using fleet = await startFleet(3_600_000);
  const { authority, stored, step } = fleet;
  const old = authority();
  await step('prepare');
  await step('switch');
  await using _agent = await fleet.start('a', await fleet.joining('a'));
  expect(isBelow(stored('a'), authority())).toBe(true);
  await step('rollback');
  await vi.waitFor(() => expect(isBelow(stored('a'), old)).toBe(true), patience);
  expect(stored('a').authority).toBe(old);
  expect((await fleet.getNode('a')).status?.identity?.locked).toBeUndefined();
});

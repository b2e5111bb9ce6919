import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GPUNode } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { runAgent } from '@capstan/node-agent';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { clearGpus, expectGpus, forgetGpus } from './node-gpus.ts';

const patience = { timeout: 20_000, interval: 30 };
const directory = mkdtempSync(join(tmpdir(), 'capstan-node-gpus-'));
const declared = join(directory, 'gpus.yaml');
const declare = (count: number): void => writeFileSync(declared, `gpus: [{ model: H200, count: ${count}, memory: 141Gi }]\n`);

let server: TestServer;
let ended: Promise<unknown>;
const stop = new AbortController();
beforeAll(async () => {
  server = await startTestServer({ version: '0.2.0' });
  await createPlatform(server);
  declare(3);
  ended = runAgent({
    stateDirectory: join(directory, 'agent'),
    handlers: {},
    signal: stop.signal,
    join: {
      server: server.url,
      token: await invite(server, 'n1'),
      authorityHash: certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8')),
    },
    declaredGpus: declared,
    gpuIntervals: { sample: 20 },
    units: { drivers: [] },
    log: () => {},
  }).catch((error: unknown) => error);
  await vi.waitFor(async () => expect(await states()).toHaveLength(3), patience);
});
afterAll(async () => {
  stop.abort();
  await ended;
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

let printed: string;
beforeEach(() => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => void vi.restoreAllMocks());

const flags = () => ({ kubeconfig: server.kubeconfigPath });
const node = async (): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/n1`)).json() as GPUNode;
const states = async (): Promise<string[]> => (await node()).status?.gpus?.map(({ health }) => health.state) ?? [];
const uuids = async (): Promise<string[]> => (await node()).status?.gpus?.map(({ uuid }) => uuid) ?? [];
const healthy = (expected: object): Promise<void> =>
  vi.waitFor(
    async () => expect((await node()).status?.conditions).toContainEqual(expect.objectContaining({ type: 'GPUsHealthy', ...expected })),
    patience,
  );

describe('GPUs that a machine should have', () => {
  test('are those that it has, or those that are named, and missing ones show in its condition', async () => {
    const present = await uuids();
    await expectGpus('n1', [], flags());
    expect((await node()).spec?.expectedGPUs?.map(({ uuid }) => uuid)).toEqual(present);
    expect(printed).toBe(`n1 should have 3 GPUs: ${present.join(', ')}.\n`);
    await healthy({ status: 'True' });
    await expectGpus('n1', [...present, 'GPU-ordered'], flags());
    await healthy({ status: 'False', reason: 'GPUMissing', message: expect.stringContaining('GPU-ordered') });
    await expectGpus('n1', [], { ...flags(), off: true });
    expect((await node()).spec?.expectedGPUs).toBeUndefined();
    await healthy({ status: 'True' });
    expect(await uuids()).toEqual(present);
  });

  test('are not forgotten as long as nobody says so, and then not expected any more', async () => {
    await expectGpus('n1', [...(await uuids()), 'GPU-sold'], flags());
    await healthy({ status: 'False', reason: 'GPUMissing' });
    await forgetGpus('n1', ['GPU-sold'], flags());
    await healthy({ status: 'True' });
    expect((await node()).spec?.expectedGPUs).toHaveLength(3);
    await expectGpus('n1', [], { ...flags(), off: true });
  });
});

describe('GPUs that were taken out', () => {
  test('stay missing until somebody says that they are gone for good', async () => {
    const [first = '', second = '', third = ''] = await uuids();
    declare(1);
    await vi.waitFor(async () => expect(await states()).toEqual(['Healthy', 'Missing', 'Missing']), patience);
    await expect(forgetGpus('n1', [first], flags())).rejects.toThrow(`${first} is in the machine (Healthy)`);
    await forgetGpus('n1', [second], flags());
    await vi.waitFor(async () => expect(await uuids()).toEqual([first, third]), patience);
    await forgetGpus('n1', [], { ...flags(), missing: true });
    expect(printed).toBe(`${second}: forgotten\n${third}: forgotten\n`);
    await vi.waitFor(async () => expect(await uuids()).toEqual([first]), patience);
    await healthy({ status: 'True' });
    await forgetGpus('n1', [], { ...flags(), missing: true });
    expect(printed).toContain('No GPU of n1 is missing.\n');
  });

  test('are not forgotten while an allocation has them', async () => {
    const allocation = { cluster: 'c', namespace: 'default', name: 'a', uid: 'u' };
    const entry = { allocation, attempt: 'first', state: 'Granted', devices: ['GPU-lent'], cpu: 0, memory: 0 };
    const body = {
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'NodeBooking',
      metadata: { name: 'n1' },
      spec: { entries: [entry] },
    };
    expect((await server.call(`${fleetPath}/nodebookings`, { method: 'POST', body })).code).toBe(201);
    await expect(forgetGpus('n1', ['GPU-lent'], flags())).rejects.toThrow('GPU-lent still belongs to default/a in c');
    await server.call(`${fleetPath}/nodebookings/n1`, { method: 'DELETE' });
  });
});

test('a GPU is cleared by its agent, which refuses one that it does not have', async () => {
  const [first = ''] = await uuids();
  await clearGpus('n1', [first], flags());
  expect(printed).toContain(`${first}: cleared: errors until now do not count any more\n`);
  await expect(clearGpus('n1', ['GPU-other'], flags())).rejects.toThrow('n1 did not accept that: this node has no GPU GPU-other.');
});

test('says how the commands are used, and which nodes there are', async () => {
  await expect(forgetGpus('n1', [], flags())).rejects.toThrow('expected the UUIDs of GPUs, or --missing.');
  await expect(forgetGpus('n1', ['a'], { ...flags(), missing: true })).rejects.toThrow('expected the UUIDs of GPUs, or --missing.');
  await expect(expectGpus('n1', ['a'], { ...flags(), off: true })).rejects.toThrow('found both');
  await expect(expectGpus('other', [], flags())).rejects.toThrow('there is no node other');
});

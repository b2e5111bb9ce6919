import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeUnit, type NodeUnitSpec, type NodeVolume, newObject, nodeVolumeKind } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runAgent } from '../agent.ts';
import { IsolatedNetwork } from '../units/drivers/exec/network.ts';
import { openExecDriver } from '../units/drivers/exec/open.ts';
import { nodeUnit } from '../units/testing/node-units.ts';
import { whyNoLoop } from './backends/choice.ts';
import { LoopBackend } from './backends/loop.ts';

const patience = { timeout: 20_000, interval: 20 };
const directory = mkdtempSync(join(tmpdir(), 'capstan-agent-volumes-'));
const network = new IsolatedNetwork({ bridge: 'capvol0' });
const known = await openExecDriver({ directory: join(directory, 'probe'), network });
const why = (await whyNoLoop()) ?? (known.isolation === 'full' ? undefined : known.why);
const loop = new LoopBackend({ spare: () => 0 });

describeUnless(why, 'units and volumes of a node', () => {
  let server: TestServer;
  let agent: AsyncDisposable;
  beforeAll(async () => {
    server = await startTestServer();
    await createPlatform(server);
    agent = await startAgent();
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await network[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
      const point = line.split(' ')[4] ?? '';
      if (point.startsWith(directory)) execFileSync('umount', [point]);
    }
    rmSync(directory, { recursive: true, force: true });
  });

  let token: string | undefined;
  async function startAgent(): Promise<AsyncDisposable> {
    const stop = new AbortController();
    const lines: string[] = [];
    const authorityHash = certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
    token ??= await invite(server, 'n1');
    const state = join(directory, 'n1');
    const ended = runAgent({
      stateDirectory: state,
      join: { server: server.url, token, authorityHash },
      handlers: {},
      signal: stop.signal,
      backoff: { base: 10, max: 50 },
      limits: { grace: 50 },
      heartbeatInterval: 50,
      serversInterval: 100,
      units: { drivers: [await openExecDriver({ directory: join(state, 'exec'), hidden: [state], network, known })] },
      volumes: { backends: { preferred: loop, of: () => loop }, times: { retryDelay: 20, usageInterval: 100 } },
      log: (line) => void lines.push(line),
    });
    await vi.waitFor(() => expect(lines.join('\n')).toContain('is open'), patience);
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await ended;
      },
    };
  }

  const volumes = `${fleetPath}/namespaces/node-n1/nodevolumes`;
  const units = `${fleetPath}/namespaces/node-n1/nodeunits`;
  const owner = { cluster: 'tenant', namespace: 'default', name: 'data', uid: 'v' };
  const merge = { 'content-type': 'application/merge-patch+json' };

  async function createVolume(name: string): Promise<void> {
    const body = newObject(nodeVolumeKind, {
      metadata: { name, namespace: 'node-n1' },
      spec: { owner: { ...owner, name }, size: 32 * 2 ** 20 },
    });
    const reply = await server.call(volumes, { method: 'POST', body });
    expect(reply.code, reply.text).toBe(201);
    await volumeBecomes(name, { phase: 'Ready', enforced: true });
  }
  const volumeBecomes = (name: string, status: object): Promise<void> =>
    vi.waitFor(async () => expect(((await server.call(`${volumes}/${name}`)).json() as NodeVolume).status).toMatchObject(status), patience);

  async function createUnit(name: string, script: string, more: Partial<NodeUnitSpec> = {}): Promise<void> {
    const spec: Partial<NodeUnitSpec> = {
      owner: { cluster: 'tenant', namespace: 'default', name: 'unit', uid: name },
      command: ['sh', '-c', script],
      network: 'None',
      mounts: [{ storage: 'data', path: '/data', readOnly: false }],
      storages: [{ storage: 'data', uid: 'a' }],
      ...more,
    };
    const { apiVersion, kind, spec: full } = nodeUnit(name, spec);
    const reply = await server.call(units, { method: 'POST', body: { apiVersion, kind, metadata: { name }, spec: full } });
    expect(reply.code, reply.text).toBe(201);
  }
  const unitBecomes = (name: string, status: object): Promise<void> =>
    vi.waitFor(async () => expect(((await server.call(`${units}/${name}`)).json() as NodeUnit).status).toMatchObject(status), patience);

  test('a second unit, another user of the node, finds and changes the files of the first', async () => {
    await createVolume('a');
    await createUnit('one-1', 'id -u > /data/who; mkdir -m 700 /data/private; echo one > /data/private/file; ls -A /data | tr "\\n" " "');
    await unitBecomes('one-1', { phase: 'Ended', exitCode: 0, lastLines: ['private who '] });
    await createUnit(
      'two-1',
      'echo two >> /data/private/file && cat /data/private/file && rm /data/who && test "$(stat -c %u /data/private)" = "$(id -u)" && echo mine',
    );
    await unitBecomes('two-1', { phase: 'Ended', exitCode: 0, lastLines: ['one', 'two', 'mine'] });
  });

  test('a unit cannot use more than the size, and reads only if it should', async () => {
    await createUnit('full-1', 'head -c 64M /dev/zero > /data/large; echo "status $?"; rm /data/large');
    await unitBecomes('full-1', { phase: 'Ended', exitCode: 0 });
    const { lastLines } = ((await server.call(`${units}/full-1`)).json() as NodeUnit).status!;
    expect(lastLines!.join('\n')).toContain('No space left on device');
    await createUnit('reading-1', 'cat /data/private/file; echo x > /data/x || echo refused', {
      mounts: [{ storage: 'data', path: '/data', readOnly: true }],
    });
    await unitBecomes('reading-1', { phase: 'Ended', lastLines: expect.arrayContaining(['one', 'two', 'refused']) as string[] });
  });

  test('a unit of another tenant never gets the volume, whatever its NodeUnit says', async () => {
    await createUnit('thief-1', 'cat /data/private/file', { owner: { cluster: 'other', namespace: 'default', name: 'unit', uid: 'x' } });
    await unitBecomes('thief-1', { phase: 'Preparing', reason: 'StorageUnavailable' });
    await createUnit('thief-2', 'cat /data/private/file', { owner: { cluster: 'tenant', namespace: 'other', name: 'unit', uid: 'x' } });
    await unitBecomes('thief-2', { phase: 'Preparing', reason: 'StorageUnavailable' });
  });

  test('files outlive the agent, and are deleted after the last unit', async () => {
    await createUnit('long-1', 'trap "exit 0" TERM; while :; do sleep 0.1; done');
    await unitBecomes('long-1', { phase: 'Running' });
    await agent[Symbol.asyncDispose]();
    agent = await startAgent();
    await createUnit('after-1', 'cat /data/private/file');
    await unitBecomes('after-1', { phase: 'Ended', exitCode: 0, lastLines: ['one', 'two'] });
    await server.call(`${volumes}/a`, { method: 'PATCH', headers: merge, body: { spec: { deleted: true } } });
    await volumeBecomes('a', { phase: 'Ready', reason: 'InUse' });
    await createUnit('late-1', 'true');
    await unitBecomes('late-1', { phase: 'Preparing', reason: 'StorageUnavailable' });
    for (const name of ['long-1', 'late-1', 'thief-1', 'thief-2'])
      await server.call(`${units}/${name}`, { method: 'PATCH', headers: merge, body: { spec: { stopped: true } } });
    await volumeBecomes('a', { phase: 'Deleted' });
  });
});

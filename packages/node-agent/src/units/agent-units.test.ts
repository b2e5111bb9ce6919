import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GPUNode, NodeTask, NodeUnit, NodeUnitSpec, NodeUnitStatus } from '@capstan/api';
import { createWorkspace, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { callAs, createPlatform, enrolled, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runAgent } from '../agent.ts';
import { nodeUnit } from './testing/node-units.ts';
import { PlainDriver } from './testing/plain-driver.ts';

const patience = { timeout: 15_000, interval: 20 };
const directory = mkdtempSync(join(tmpdir(), 'capstan-agent-units-'));
const driver = new PlainDriver(join(directory, 'rooms'));
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens: 'alice-token,alice,1', audit: { policy: { rules: [{ level: 'RequestResponse' }] } } });
  await createPlatform(server);
});
afterAll(async () => {
  for (const id of await driver.list()) await driver.remove(id);
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** An agent of the node n1 until it is disposed of. */
async function startAgent(): Promise<AsyncDisposable & { readonly lines: string[] }> {
  const stop = new AbortController();
  const lines: string[] = [];
  const authorityHash = certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
  token ??= await invite(server, 'n1');
  const ended = runAgent({
    stateDirectory: join(directory, 'n1'),
    join: { server: server.url, token, authorityHash },
    handlers: {},
    signal: stop.signal,
    backoff: { base: 10, max: 50 },
    limits: { grace: 50 },
    heartbeatInterval: 50,
    serversInterval: 100,
    units: { drivers: [driver], allowUnisolated: true, times: { restartDelay: 20, retryDelay: 20, logInterval: 20 } },
    log: (line) => void lines.push(line),
  });
  await vi.waitFor(() => expect(lines.join('\n')).toContain('is open'), patience);
  return {
    lines,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
let token: string | undefined;

const units = `${fleetPath}/namespaces/node-n1/nodeunits`;
async function create(name: string, spec: Partial<NodeUnitSpec>): Promise<void> {
  const { apiVersion, kind, spec: full } = nodeUnit(name, spec);
  const reply = await server.call(units, { method: 'POST', body: { apiVersion, kind, metadata: { name }, spec: full } });
  expect(reply.code, reply.text).toBe(201);
}
const statusOf = async (name: string): Promise<NodeUnitStatus | undefined> =>
  ((await server.call(`${units}/${name}`)).json() as NodeUnit).status;
const becomes = (name: string, status: Partial<NodeUnitStatus>): Promise<void> =>
  vi.waitFor(async () => expect(await statusOf(name)).toMatchObject(status), patience);
const patch = (name: string, spec: object) =>
  server.call(`${units}/${name}`, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: { spec } });

describe('an agent', () => {
  test('guards programs that it must end when it is cut off', async () => {
    await using _agent = await startAgent();
    await create('guarded-1', { command: ['sleep', '600'], fenceAfter: '10m' });
    await becomes('guarded-1', { phase: 'Running' });
    const { pid } = (await statusOf('guarded-1'))!;
    expect(readFileSync(join(directory, 'n1', 'units', 'guarded-1', 'guard'), 'utf8')).toContain(` ${pid} `);
    await server.call(`${units}/guarded-1`, { method: 'DELETE' });
  });

  test('starts nothing of an allocation after which the node was cleaned, also after a restart', async () => {
    const { apiVersion } = nodeUnit('x');
    const tasks = `${fleetPath}/namespaces/node-n1/nodetasks`;
    const agent = await startAgent();
    const spec = { type: 'node.clean', nodeClean: { allocation: 'allocation-late' } };
    const reply = await server.call(tasks, {
      method: 'POST',
      body: { apiVersion, kind: 'NodeTask', metadata: { name: 'clean-late' }, spec },
    });
    expect(reply.code, reply.text).toBe(201);
    const phase = async () => ((await server.call(`${tasks}/clean-late`)).json() as NodeTask).status?.phase;
    await vi.waitFor(async () => expect(await phase()).toBe('Succeeded'), patience);
    await agent[Symbol.asyncDispose]();
    await using _next = await startAgent();
    await create('late-1', { command: ['true'], allocation: 'allocation-late' });
    await becomes('late-1', { phase: 'Ended', reason: 'Stopped', message: 'the node was cleaned after the allocation of this unit' });
    expect((await statusOf('late-1'))?.startedAt).toBeUndefined();
  });

  test('runs the command of a NodeUnit and reports how it ended', async () => {
    await using _agent = await startAgent();
    await create('a-1', { command: ['sh', '-c', 'echo hello; echo "rank $CAPSTAN_RANK of $CAPSTAN_NODES"; exit 3'] });
    await becomes('a-1', {
      phase: 'Ended',
      exitCode: 3,
      reason: 'Error',
      driver: 'exec',
      lastLines: ['hello', 'rank 0 of 1'],
      observedGeneration: 1,
    });
  });

  test('finds its units again, stops them, and removes them', async () => {
    {
      await using _agent = await startAgent();
      await create('b-1', { command: ['sleep', '600'] });
      await becomes('b-1', { phase: 'Running', ready: true, pid: expect.any(Number) as number });
    }
    const { pid } = (await statusOf('b-1'))!;
    await using _agent = await startAgent();
    await patch('b-1', { stopped: true, stopReason: 'TimeLimit' });
    await becomes('b-1', { phase: 'Ended', reason: 'TimeLimit', observedGeneration: 2 });
    expect(() => process.kill(pid!, 0)).toThrow();
    await server.call(`${units}/b-1`, { method: 'DELETE' });
    await vi.waitFor(async () => expect(await driver.list()).not.toContain('b-1'), patience);
  });

  test('ends units that were deleted while it was away', async () => {
    {
      await using _agent = await startAgent();
      await create('c-1', { command: ['sleep', '600'], restartPolicy: 'Always' });
      await becomes('c-1', { phase: 'Running' });
    }
    await server.call(`${units}/c-1`, { method: 'DELETE' });
    expect((await driver.find('c-1', 0))?.phase).toBe('running');
    await using _agent = await startAgent();
    await vi.waitFor(async () => expect(await driver.list()).not.toContain('c-1'), patience);
  });

  test('says which drivers it has', async () => {
    await using _agent = await startAgent();
    const node = async (): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/n1`)).json() as GPUNode;
    await vi.waitFor(
      async () => expect((await node()).status?.unitDrivers).toEqual([{ name: 'exec', isolation: 'none', message: 'it is for tests' }]),
      patience,
    );
    await create('d-1', { image: 'python:3' });
    await becomes('d-1', { phase: 'Ended', reason: 'DriverUnavailable', message: 'this node has no driver container' });
  });
});

describe('through the API server', () => {
  const pods = '/clusters/tenant0/api/v1/namespaces/default/pods';
  const secrets = (name: string): string => `${units}/${name}/secrets`;
  const as = (who: string) => ({ anonymous: true, headers: { authorization: `Bearer ${who}-token` } });
  const owner = { cluster: 'tenant0', namespace: 'default', name: 'job', uid: 'u' };

  beforeAll(async () => {
    const metadata = { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': 'root:project' } };
    const workspace = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata };
    await server.call('/clusters/tenant0/apis/core.kcp.io/v1alpha1/logicalclusters', { method: 'POST', body: workspace });
    for (const name of ['job', 'stranger']) {
      const pod = { metadata: { name }, spec: { nodeName: 'n1', containers: [{ name: 'unit', image: 'x' }] } };
      const reply = await server.call(pods, { method: 'POST', body: pod });
      expect(reply.code, reply.text).toBe(201);
    }
  });

  test('the Pod of a unit has its log, and no other Pod has', async () => {
    await using _agent = await startAgent();
    await create('e-1', { owner, command: ['sh', '-c', 'echo one; echo two'] });
    await becomes('e-1', { phase: 'Ended' });
    expect((await server.call(`${pods}/job/log?follow=true&tailLines=1`)).text).toBe('two\n');
    const other = await server.call(`${pods}/stranger/log`);
    expect([other.code, other.json().message]).toEqual([404, 'this node has no unit stranger of the namespace default']);
    const elsewhere = await server.call('/api/v1/namespaces/default/pods', {
      method: 'POST',
      body: { metadata: { name: 'job' }, spec: { nodeName: 'n1', containers: [{ name: 'unit', image: 'x' }] } },
    });
    expect(elsewhere.code).toBe(201);
    expect((await server.call('/api/v1/namespaces/default/pods/job/log')).code).toBe(404);
  });

  test('secrets reach their unit, and neither the store nor the audit log', async () => {
    await using _agent = await startAgent();
    await create('f-1', { owner: { ...owner, name: 'secret' }, secrets: true, command: ['sh', '-c', 'echo "got $TOKEN" | tr a-z A-Z'] });
    await becomes('f-1', { phase: 'Waiting', reason: 'SecretsMissing' });
    const body = { env: { TOKEN: 'swordfish' } };
    const sent = await server.call(secrets('f-1'), { method: 'PUT', body });
    expect([sent.code, sent.json().status]).toEqual([200, 'Success']);
    await becomes('f-1', { phase: 'Ended', lastLines: ['GOT SWORDFISH'] });
    const wrong = await server.call(secrets('f-1'), { method: 'PUT', body });
    expect(wrong.code).toBe(409);
    expect((await server.call(`${units}/f-1`)).text).not.toContain('swordfish');
    const audit = (): string => readFileSync(join(server.directory, 'audit.log'), 'utf8');
    await vi.waitFor(() => expect(audit()).toContain('nodeunits/f-1/secrets'), patience);
    expect(audit()).not.toContain('swordfish');
  });

  test('secrets are sent by nobody else, to no other node, and never read', async () => {
    await using _agent = await startAgent();
    await create('g-1', { secrets: true });
    await becomes('g-1', { phase: 'Waiting' });
    const body = { env: { TOKEN: 'x' } };
    expect((await server.call(secrets('g-1'), { method: 'PUT', body, ...as('alice') })).code).toBe(403);
    expect((await server.call(secrets('g-1'))).code).toBe(405);
    expect((await server.call(secrets('g-1'), { method: 'POST', body })).code).toBe(405);
    expect((await server.call(secrets('nobody'), { method: 'PUT', body })).code).toBe(404);
    const elsewhere = '/clusters/tenant0/apis/fleet.capstan.dev/v1alpha1/namespaces/node-n1/nodeunits/g-1/secrets';
    expect((await server.call(elsewhere, { method: 'PUT', body })).code).toBe(404);
    const other = await enrolled(server, 'n2');
    expect((await callAs(server, other, secrets('g-1'), { method: 'PUT', body })).code).toBe(403);
    expect(await statusOf('g-1')).toMatchObject({ phase: 'Waiting' });
  });
});

describe('the output of a unit', () => {
  test('is in the log store of the control plane, also if the unit is removed at once', async () => {
    await createWorkspace(server, 'logs1');
    await using _agent = await startAgent();
    const owner = { cluster: 'logs1', namespace: 'default', name: 'sent', uid: 'sent' };
    await create('sent-1', { owner, command: ['sh', '-c', 'echo hello; echo world'] });
    await becomes('sent-1', { phase: 'Ended' });
    await server.call(`${units}/sent-1`, { method: 'DELETE' });
    const file = join(server.directory, 'logs/logs1/default/sent-1/n1/0/0000000000000000.log');
    const lines = (): string[] =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.slice(line.indexOf(' ') + 1))
        .sort();
    await vi.waitFor(() => expect(lines()).toEqual(['stdout F hello', 'stdout F world']), patience);
  });
});

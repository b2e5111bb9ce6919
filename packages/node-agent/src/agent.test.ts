import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GPUNode, NodeTask, NodeTaskStatus } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AgentOptions, runAgent } from './agent.ts';
import { IdentityKeeper } from './identity/keeper.ts';
import { type Identity, StateDirectory } from './identity/state.ts';
import { processesOf } from './processes/proc.ts';
import { Supervisor } from './processes/supervisor.ts';

const patience = { timeout: 15_000, interval: 20 };
let server: TestServer;
let directory: string;
beforeAll(async () => {
  server = await startTestServer({ version: '0.2.0' });
  await createPlatform(server);
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-agent-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const authorityHash = (): string => certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
const stored = (at = directory): Identity => JSON.parse(readFileSync(join(at, 'identity.json'), 'utf8')) as Identity;
const getNode = async (node: string): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/${node}`)).json() as GPUNode;
const leaseOf = (node: string) => server.call(`/clusters/root:platform/apis/coordination.k8s.io/v1/namespaces/node-${node}/leases/${node}`);

interface Running extends AsyncDisposable {
  readonly ended: Promise<unknown>;
  readonly lines: string[];
  stop(): void;
}

function run(options: Partial<AgentOptions>): Running {
  const stop = new AbortController();
  const lines: string[] = [];
  const ended = runAgent({
    stateDirectory: directory,
    handlers: {},
    signal: stop.signal,
    backoff: { base: 10, max: 50 },
    limits: { grace: 50 },
    heartbeatInterval: 50,
    serversInterval: 100,
    units: { drivers: [] },
    log: (line) => void lines.push(line),
    ...options,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return {
    ended,
    lines,
    stop: () => stop.abort(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

const joinAs = async (node: string, more: object = {}) => ({
  server: server.url,
  token: await invite(server, node, more),
  authorityHash: authorityHash(),
});

describe('an agent', () => {
  test('enrols, keeps its identity to itself, beats and opens a tunnel', async () => {
    await using agent = run({ join: await joinAs('a') });
    await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
    await vi.waitFor(async () => expect((await leaseOf('a')).code).toBe(200), patience);
    const before = (await leaseOf('a')).json().metadata.resourceVersion;
    await vi.waitFor(async () => expect((await leaseOf('a')).json().metadata.resourceVersion).not.toBe(before), patience);
    expect(statSync(join(directory, 'identity.json')).mode & 0o777).toBe(0o600);
    expect(stored()).toMatchObject({ node: 'a', servers: [server.url], entry: server.url });
    agent.stop();
    expect(await agent.ended).toBeUndefined();
  });

  test('starts again without a token, and ignores one that it has used', async () => {
    const joining = await joinAs('b');
    const first = run({ join: joining });
    await vi.waitFor(() => expect(first.lines.join('\n')).toContain('is open'), patience);
    await first[Symbol.asyncDispose]();
    const { certificate } = stored();
    for (const again of [undefined, joining]) {
      await using agent = run({ join: again });
      await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
      expect(stored().certificate).toBe(certificate);
    }
  });

  test('says whether the control plane works with its version, and that somebody else has to upgrade it', async () => {
    const conditions = async (node: string) =>
      Object.fromEntries((await getNode(node)).status?.conditions?.map(({ type, status, reason }) => [type, [status, reason]]) ?? []);
    for (const [node, version, state] of [
      ['older', '0.0.9', ['False', 'AgentTooOld']],
      ['newer', '0.3.0', ['False', 'AgentTooNew']],
      ['right', '0.1.5+abc', ['True', 'Supported']],
    ] as const) {
      const stateDirectory = join(directory, node);
      await using _agent = run({ join: await joinAs(node), version, stateDirectory });
      await vi.waitFor(async () => expect(await conditions(node)).toMatchObject({ AgentSupported: state }), patience);
      expect(await conditions(node)).not.toHaveProperty('Upgraded');
      expect((await getNode(node)).status?.machine).toMatchObject({ upgradable: false });
      const merge = { 'content-type': 'application/merge-patch+json' };
      const body = { spec: { agent: { version: '0.2.0+def' } } };
      await server.call(`${fleetPath}/gpunodes/${node}`, { method: 'PATCH', headers: merge, body });
      await vi.waitFor(async () => expect(await conditions(node)).toMatchObject({ Upgraded: ['False', 'NotManaged'] }), patience);
    }
  });

  test('sends nothing to a server with another authority', async () => {
    const joining = { ...(await joinAs('c')), authorityHash: 'a'.repeat(64) };
    expect(await run({ join: joining }).ended).toMatchObject({ code: 'untrusted' });
    expect((await server.call(`${fleetPath}/gpunodes/c`)).code).toBe(404);
  });

  test('gives up with a token that does not exist', async () => {
    const joining = { ...(await joinAs('d')), token: `nothing.${'x'.repeat(43)}` };
    expect(await run({ join: joining }).ended).toMatchObject({ code: 'refused', refusal: 'Unauthorized' });
  });

  test('needs a join command on a machine that is no node', async () => {
    expect(await run({}).ended).toMatchObject({ code: 'refused' });
  });

  test('waits for a server that is not there yet', async () => {
    const joining = { ...(await joinAs('e')), server: 'https://127.0.0.1:1' };
    await using agent = run({ join: joining });
    await vi.waitFor(() => expect(agent.lines.filter((line) => line.includes('trying again')).length).toBeGreaterThan(1), patience);
  });

  test('renews after half of the life of its certificate, with a new key', async () => {
    let offset = 0;
    await using agent = run({ join: await joinAs('f'), now: () => new Date(Date.now() + offset), serversInterval: 20 });
    await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
    const { key } = stored();
    agent.stop();
    await agent.ended;
    offset = 13 * 3_600_000;
    await using later = run({ now: () => new Date(Date.now() + offset) });
    await vi.waitFor(() => expect(stored().key).not.toBe(key), patience);
    // By its own clock the new certificate is older than half of its life too.
    await vi.waitFor(async () => expect((await getNode('f')).status?.identity?.generation).toBeGreaterThanOrEqual(2), patience);
    await vi.waitFor(() => expect(later.lines.join('\n')).toContain('renewed'), patience);
  });

  test('renews once, not without end, when its clock is days ahead', async () => {
    let offset = 0;
    await using agent = run({ join: await joinAs('ahead'), now: () => new Date(Date.now() + offset) });
    await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
    await agent[Symbol.asyncDispose]();
    offset = 72 * 3_600_000;
    await using later = run({ now: () => new Date(Date.now() + offset) });
    await vi.waitFor(() => expect(later.lines.join('\n')).toContain('renewed'), patience);
    const beats = async () => (await leaseOf('ahead')).json().metadata.resourceVersion;
    for (let seen = 0, last = await beats(); seen < 3; ) {
      const now = await beats();
      if (now !== last) seen++;
      last = now;
    }
    expect((await getNode('ahead')).status?.identity?.generation).toBe(2);
  });

  test.each([
    [60_000, 2],
    [0, 3],
  ])('does not renew again for a server that has not heard of a renewal within %i ms', async (settleTime, generation) => {
    const node = `settle-${settleTime}`;
    const first = run({ join: await joinAs(node) });
    await vi.waitFor(() => expect(first.lines.join('\n')).toContain('is open'), patience);
    await first[Symbol.asyncDispose]();
    const renewals: Identity[] = [];
    const stop = new AbortController();
    const keeper = new IdentityKeeper(stored(), {
      state: await StateDirectory.open(directory),
      servers: () => [server.url],
      now: () => new Date(Date.now() + 13 * 3_600_000),
      backoff: { base: 1, max: 1 },
      settleTime,
      log: () => {},
      onRenewed: (identity) => void renewals.push(identity),
    });
    const running = keeper.run(stop.signal);
    await vi.waitFor(() => expect(renewals).toHaveLength(1), patience);
    keeper.doubt();
    if (generation === 3) await vi.waitFor(() => expect(renewals).toHaveLength(2), patience);
    else for (let turn = 0; turn < 20; turn++) await leaseOf(node);
    stop.abort();
    await running;
    expect((await getNode(node)).status?.identity?.generation).toBe(generation);
  });

  test('stops and says why when its node is removed', async () => {
    await using agent = run({ join: await joinAs('g') });
    await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
    await server.call(`${fleetPath}/gpunodes/g`, { method: 'DELETE' });
    expect(await agent.ended).toMatchObject({ code: 'refused', refusal: 'NodeRemoved' });
  });

  test('begins a new identity with a new token', async () => {
    const first = run({ join: await joinAs('h') });
    await vi.waitFor(() => expect(first.lines.join('\n')).toContain('is open'), patience);
    await first[Symbol.asyncDispose]();
    const { certificate } = stored();
    await using again = run({ join: await joinAs('h', { name: 'again-h' }) });
    await vi.waitFor(() => expect(again.lines.join('\n')).toContain('is open'), patience);
    expect(stored().certificate).not.toBe(certificate);
    expect((await getNode('h')).status?.identity?.generation).toBe(2);
  });
});

const script = (name: string, content: string) =>
  server.call(`${fleetPath}/nodescripts`, {
    method: 'POST',
    body: {
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'NodeScript',
      metadata: { name },
      spec: { content: `#!/bin/sh\n${content}\n` },
    },
  });
const tasksOf = (node: string): string => `${fleetPath}/namespaces/node-${node}/nodetasks`;
const createTask = async (node: string, name: string, spec: object): Promise<void> => {
  const body = { apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'NodeTask', metadata: { name }, spec };
  expect((await server.call(tasksOf(node), { method: 'POST', body })).text).toContain('"uid"');
};
const statusOf = async (node: string, name: string): Promise<NodeTaskStatus | undefined> =>
  ((await server.call(`${tasksOf(node)}/${name}`)).json() as NodeTask).status;
const ended = (node: string, name: string): Promise<NodeTaskStatus> =>
  vi.waitFor(async () => {
    const status = await statusOf(node, name);
    if (status?.finishedAt === undefined) throw new Error(`still ${status?.phase}`);
    return status;
  }, patience);

describe('the inventory of a node', () => {
  test('has its GPUs, its machine and its conditions, and follows changes', async () => {
    const file = join(directory, 'declared.yaml');
    writeFileSync(file, 'gpus:\n  - {model: H200, count: 8, memory: 141Gi, linked: true}\n');
    await using agent = run({ join: await joinAs('inventory'), declaredGpus: file, gpuIntervals: { sample: 20 }, version: '1.2.3' });
    await vi.waitFor(async () => expect((await getNode('inventory')).status?.gpuSummary).toBe('8×H200'), patience);
    const { status } = await getNode('inventory');
    expect(status).toMatchObject({
      identity: { generation: 1 },
      machine: { agentVersion: '1.2.3', cpus: cpus().length },
      drivers: [{ source: 'declared' }],
    });
    expect(status?.gpus).toHaveLength(8);
    expect(status?.gpus?.[0]).toMatchObject({
      model: 'H200',
      memoryBytes: 141 * 1024 ** 3,
      linkGroup: 'nvlink-0',
      mig: { mode: 'unsupported' },
    });
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'GPUsHealthy' }));
    writeFileSync(file, 'gpus:\n  - {model: H200, count: 4, memory: 141Gi, linked: true}\n');
    await vi.waitFor(
      async () =>
        expect((await getNode('inventory')).status?.conditions).toContainEqual(
          expect.objectContaining({ type: 'GPUsHealthy', status: 'False', reason: 'GPUMissing' }),
        ),
      patience,
    );
    expect(agent.lines.join('\n')).not.toContain('cannot be reported');
  });

  test('is not written again while nothing changes', async () => {
    await using agent = run({ join: await joinAs('quiet'), gpuIntervals: { sample: 10, absent: 10 } });
    await vi.waitFor(async () => expect((await getNode('quiet')).status?.conditions).toHaveLength(2), patience);
    const before = (await getNode('quiet')).metadata.resourceVersion;
    const beat = (await leaseOf('quiet')).json().metadata.resourceVersion;
    await vi.waitFor(async () => expect((await leaseOf('quiet')).json().metadata.resourceVersion).not.toBe(beat), patience);
    expect((await getNode('quiet')).metadata.resourceVersion).toBe(before);
    expect(agent.lines.join('\n')).not.toContain('cannot be reported');
  });
});

describe('tasks of a node', () => {
  test('run with output, and the log has the person who asked', async () => {
    await script('greet', 'echo hello $1');
    await using agent = run({ join: await joinAs('worker') });
    await vi.waitFor(() => expect(agent.lines.join('\n')).toContain('is open'), patience);
    await createTask('worker', 'first', { type: 'process.run', processRun: { script: 'greet', arguments: ['world'] } });
    expect(await ended('worker', 'first')).toMatchObject({ phase: 'Succeeded', exitCode: 0, output: { bytes: 12, truncated: false } });
    expect((await server.call(`${tasksOf('worker')}/first/log`)).text).toBe('hello world\n');
    expect(agent.lines.join('\n')).toMatch(/task first, attempt 1, process.run, requested by \S+: Succeeded/);
  });

  test('may pin the content of their script', async () => {
    await script('pinned', 'true');
    await using _agent = run({ join: await joinAs('pinning') });
    await vi.waitFor(async () => expect((await getNode('pinning')).status?.machine).toBeDefined(), patience);
    await createTask('pinning', 'other', { type: 'process.run', processRun: { script: 'pinned', sha256: 'a'.repeat(64) } });
    expect(await ended('pinning', 'other')).toMatchObject({ phase: 'Failed', error: { code: 'ScriptChanged' } });
  });

  test('get secrets and artifacts from the control plane, and the journal has neither', async () => {
    await using _agent = run({ join: await joinAs('provided') });
    await vi.waitFor(async () => expect((await getNode('provided')).status?.machine).toBeDefined(), patience);
    const metadata = { name: 'app', labels: { 'fleet.capstan.dev/task-secret': 'apps' } };
    const secrets = '/clusters/root:platform/api/v1/namespaces/node-provided/secrets';
    await server.call(secrets, { method: 'POST', body: { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: 'hunter2' } } });
    const fileWrite = { path: join(directory, 'with-secret'), content: 'key=${secret:key}', mode: '0600' };
    await createTask('provided', 'writes', { type: 'file.write', secret: 'app', fileWrite });
    expect(await ended('provided', 'writes')).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(fileWrite.path, 'utf8')).toBe('key=hunter2');
    expect(readFileSync(join(directory, 'journal'), 'utf8')).not.toContain('hunter2');
    await createTask('provided', 'fails', { type: 'file.write', secret: 'missing', fileWrite });
    expect(await ended('provided', 'fails')).toMatchObject({ phase: 'Failed', error: { code: 'UnknownSecret' } });

    const content = Buffer.alloc(100_000, 'artifact ');
    const sha256 = createHash('sha256').update(content).digest('hex');
    await server.call(`/capstan/artifacts/${sha256}?offset=0&size=${content.length}`, { method: 'PUT', body: content });
    await createTask('provided', 'fetches', { type: 'artifact.fetch', artifactFetch: { sha256, path: join(directory, 'opt/file') } });
    expect(await ended('provided', 'fetches')).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(join(directory, 'opt/file')).equals(content)).toBe(true);
  });

  test('send their output while they run, also the last lines only', async () => {
    await script('slow', `echo one; echo two; while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo three`);
    await using _agent = run({ join: await joinAs('streams') });
    await vi.waitFor(async () => expect((await getNode('streams')).status?.machine).toBeDefined(), patience);
    await createTask('streams', 'slow', { type: 'process.run', processRun: { script: 'slow' } });
    await vi.waitFor(async () => expect((await server.call(`${tasksOf('streams')}/slow/log`)).text).toBe('one\ntwo\n'), patience);
    const following = await server.open(`${tasksOf('streams')}/slow/log?follow=true&tailLines=1`);
    let printed = '';
    for await (const part of following) {
      printed += String(part);
      writeFileSync(join(directory, 'go'), '');
    }
    expect(printed).toBe('two\nthree\n');
    expect((await server.call(`${tasksOf('streams')}/slow/log?attempt=7`)).code).toBe(404);
    expect((await server.call(`${tasksOf('streams')}/slow/log?tailLines=x`)).code).toBe(400);
    expect((await server.call(`${tasksOf('streams')}/slow/log?tailBytes=-1`)).code).toBe(400);
    expect((await server.call(`${tasksOf('streams')}/slow/log?tailBytes=3`)).text).toBe('ee\n');
    expect((await server.call(`${tasksOf('streams')}/slow/log?tailBytes=1000`)).text).toBe('one\ntwo\nthree\n');
    expect((await server.call(`${tasksOf('streams')}/slow/log?tailLines=2&tailBytes=100`)).text).toBe('two\nthree\n');
  });

  test('go on in the next agent, and end when they are deleted', async () => {
    await script('long', 'echo begun; sleep 600');
    const first = run({ join: await joinAs('restarts') });
    await vi.waitFor(async () => expect((await getNode('restarts')).status?.machine).toBeDefined(), patience);
    await createTask('restarts', 'long', { type: 'process.run', processRun: { script: 'long' } });
    await vi.waitFor(async () => expect((await server.call(`${tasksOf('restarts')}/long/log`)).text).toBe('begun\n'), patience);
    await first[Symbol.asyncDispose]();
    const { uid = '' } = ((await server.call(`${tasksOf('restarts')}/long`)).json() as NodeTask).metadata;
    await using _second = run({});
    await vi.waitFor(async () => expect((await server.call(`${tasksOf('restarts')}/long/log`)).text).toBe('begun\n'), patience);
    expect(await statusOf('restarts', 'long')).toMatchObject({ phase: 'Running' });
    await server.call(`${tasksOf('restarts')}/long`, { method: 'DELETE' });
    await vi.waitFor(async () => expect(await processesOf(`task-${uid}-1`, undefined)).toEqual([]), patience);
    await vi.waitFor(() => expect(existsSync(join(directory, 'output', `task-${uid}-1`))).toBe(false), patience);
  });

  test('that ran on a machine which lost its state are Unknown, and not run again', async () => {
    await script('once', `echo x >> ${directory}/../once-${process.pid}; sleep 600`);
    const first = run({ join: await joinAs('loses') });
    await vi.waitFor(async () => expect((await getNode('loses')).status?.machine).toBeDefined(), patience);
    await createTask('loses', 'once', { type: 'process.run', processRun: { script: 'once' } });
    const marks = `${directory}/../once-${process.pid}`;
    await vi.waitFor(() => expect(readFileSync(marks, 'utf8')).toBe('x\n'), patience);
    await first[Symbol.asyncDispose]();
    const { uid = '' } = ((await server.call(`${tasksOf('loses')}/once`)).json() as NodeTask).metadata;
    const processes = new Supervisor({ directory: join(directory, 'processes'), groups: undefined });
    await processes.kill(`task-${uid}-1`, 100);
    for (const name of ['journal', 'processes', 'output']) rmSync(join(directory, name), { recursive: true });
    await using _second = run({});
    expect(await ended('loses', 'once')).toMatchObject({ phase: 'Unknown', error: { code: 'Interrupted' } });
    expect(readFileSync(marks, 'utf8')).toBe('x\n');
    rmSync(marks);
  });
});

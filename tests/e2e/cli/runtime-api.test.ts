import { statSync } from 'node:fs';
import {
  type Allocation,
  allocationKind,
  newObject,
  type OperatorJob,
  operatorJobKind,
  platformWorkspace,
  restPath,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { Client, connectionOf, isForbidden, isNotFound, loadKubeconfig } from '@capstan/client';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

await buildCapstan();

interface Reported {
  readonly name: string;
  readonly pid: number;
  readonly health: string;
  readonly restarts: number;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

const path = 'root:main:rest';

/** Whether a request succeeds; the workspace or the kind may not be there yet. */
async function succeeds(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
}

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const bindings = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', namespaced: false };

describe('capstan runtime-api', () => {
  const directory = temporaryDirectory('rest');
  const data = directory.join('data');
  let up: Child;
  let tenant: Client;
  let url: string;
  let token: string;

  const processOf = async (name: string): Promise<Reported> => {
    const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '--output', 'json'], { timeout: 30_000 });
    return (JSON.parse(stdout) as { processes: Reported[] }).processes.find((one) => one.name === name)!;
  };
  const ask = async (target: string, more: RequestInit = {}): Promise<{ status: number; body: JsonObject }> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${target.startsWith('http') ? '' : url}${target}`, { headers, ...more });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const units = `${restPath}/gpu-units`;
  const unit = (name: string): RequestInit => ({
    method: 'POST',
    body: JSON.stringify({ name, running: false, resources: { cpu: 1 }, command: ['true'] }),
  });

  beforeAll(async () => {
    const port = await freePort();
    up = new Child('capstan up', [process.execPath, capstanProgram, 'up', '--no-node', '--data-dir', data, '--port', String(port)]);
    await up.waitUntil('the REST API', () => up.output.includes('| REST API at'));
    const client = new Client(connectionOf(loadKubeconfig({ path: `${data}/admin.kubeconfig` })));
    tenant = client.cluster(path);
    const parent = client.cluster('root:main').resource<Workspace>(workspaceKind);
    const workspace: Workspace = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'rest' },
      spec: { type: { name: 'project', path: 'root' } },
    };
    await up.waitUntil('the project', () => succeeds(parent.create(workspace)));
    const allocations = tenant.resource<Allocation>(allocationKind).in('default');
    await up.waitUntil('its products', () => succeeds(allocations.list()));
    const account = tenant.resource(accounts).in('default');
    await account.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } });
    await tenant.resource(bindings).create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'robot' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'robot' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    } as KubeObject);
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const made = await account.writeSubresource<{ status: { token: string } }>('robot', { subresource: 'token', method: 'POST', body });
    token = made.status.token;
    url = `http://127.0.0.1:${(await processOf('runtime-api')).ports.find(({ name }) => name === 'http')!.port}`;
  });
  afterAll(async () => {
    await up.stop();
    directory[Symbol.dispose]();
  });

  /** A process that hangs is as dead as one that was killed, but is not restarted. */
  async function without(name: string, work: () => Promise<void>): Promise<void> {
    const { pid } = await processOf(name);
    process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  test('listens one port above the API server, and is healthy', async () => {
    expect(await processOf('runtime-api')).toMatchObject({ health: 'ok', restarts: 0 });
    expect(up.output).toContain(`runtime-api | REST API at ${url}${restPath}, documentation at ${url}${restPath}/docs`);
  });

  test('works on the jobs of operators, with a token that nobody had to make', async () => {
    const jobs = tenant.cluster(platformWorkspace).resource<OperatorJob>(operatorJobKind);
    const spec = { stock: { offering: 'missing', count: 1 } } as OperatorJob['spec'];
    await jobs.create(newObject(operatorJobKind, { metadata: { name: 'early' }, spec }) as OperatorJob);
    await expect
      .poll(async () => (await jobs.get('early')).status)
      .toMatchObject({ phase: 'Failed', message: 'there is no offering missing' });
    expect(statSync(`${data}/jobs.token`).mode & 0o777).toBe(0o600);
  });

  test('answers while the controllers do not', async () => {
    await without('platform-controllers', async () => {
      await without('controller-manager', async () => {
        expect((await ask(units, unit('alone'))).status).toBe(201);
        expect(await ask(`${units}/alone`)).toMatchObject({ status: 200, body: { id: 'alone', running: false } });
        expect((await ask(`${restPath}/health`)).body).toEqual({ status: 'ok', apiserver: 'ok' });
      });
    });
    await expect.poll(async () => (await ask(`${units}/alone`)).body['phase']).toBe('Stopped');
  });

  test('is not needed by the controllers', async () => {
    await without('runtime-api', async () => {
      const allocations = tenant.resource<Allocation>(allocationKind).in('default');
      const spec = { resources: { cpu: 1 } };
      await allocations.create(newObject(allocationKind, { metadata: { name: 'order', namespace: 'default' }, spec }) as Allocation);
      await expect.poll(async () => (await allocations.get('order')).status?.phase).toBe('Pending');
    });
    expect((await ask(`${restPath}/allocations/order`)).body['phase']).toBe('Pending');
  });

  test('says that the API server does not answer, and goes on when it does', async () => {
    const { pid, restarts } = await processOf('runtime-api');
    const server = (await processOf('apiserver')).pid;
    // A killed one is back sooner than anybody notices.
    process.kill(server, 'SIGSTOP');
    try {
      await expect.poll(async () => (await ask(`${restPath}/health`)).status).toBe(503);
    } finally {
      process.kill(server, 'SIGKILL');
    }
    await expect.poll(async () => (await ask(units)).status).toBe(200);
    expect(await processOf('runtime-api')).toMatchObject({ pid, restarts });
  });

  test('is restarted when it is killed, and loses and repeats nothing that was asked with a key', async () => {
    const before = await processOf('runtime-api');
    const keyed = (at: number): RequestInit => ({
      ...unit(`killed-${at}`),
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': `killed-${at}`, 'content-type': 'application/json' },
    });
    const numbers = Array.from({ length: 24 }, (_, at) => at);
    let answers = 0;
    const first = numbers.map(async (at) => {
      const answer = await ask(units, keyed(at)).catch(() => undefined);
      // In the middle: some are answered, some are on their way, and some have not come.
      if (answer?.status === 201 && ++answers === 3) process.kill(before.pid, 'SIGKILL');
      return answer;
    });
    const answered = await Promise.all(first);
    await expect.poll(async () => (await ask(`${restPath}/health`).catch(() => undefined))?.status).toBe(200);
    const again = await Promise.all(numbers.map((at) => ask(units, keyed(at))));
    for (const at of numbers) {
      expect(again[at]).toMatchObject({ status: 201, body: { id: `killed-${at}` } });
      if (answered[at]?.status === 201) expect(again[at]!.body['uid']).toBe(answered[at].body['uid']);
    }
    await expect.poll(() => processOf('runtime-api')).toMatchObject({ health: 'ok', restarts: before.restarts + 1 });
    expect((await processOf('apiserver')).health).toBe('ok');
  });

  test('has replicas that give the same answers, and that end cleanly', async () => {
    const args = ['runtime-api', '--data-dir', data, '--port', '0', '--health-port', '0'];
    await using replica = new Child('capstan runtime-api', [process.execPath, capstanProgram, ...args]);
    await replica.waitUntil('it serves', () => replica.output.includes('REST API at'));
    const other = /REST API at (http:\/\/[^/]+)/.exec(replica.output)![1]!;
    const keyed = {
      ...unit('keyed'),
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'k', 'content-type': 'application/json' },
    };
    const [first, second] = [await ask(units, keyed), await ask(`${other}${units}`, keyed)];
    expect([second.status, second.body['uid']]).toEqual([201, first.body['uid']]);
    replica.signal('SIGTERM');
    expect(await replica.exited).toEqual({ code: 0, signal: null });
    expect(`${replica.output}${up.output}`).not.toContain(token.slice(0, 30));
  });
});

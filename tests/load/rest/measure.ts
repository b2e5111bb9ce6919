import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gpuUnitKind, newObject, type Workspace, workspaceKind } from '@capstan/api';
import { type Client, isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { capstanProgram, run } from '@capstan/testbed';
import { ControlPlane } from '../agents/control-plane.ts';
import { BodyReader } from '../client/body-reader.ts';
import { Latencies } from '../measure/latencies.ts';
import { processorSeconds } from '../measure/processor.ts';
import type { Measurement } from '../profiles/profile.ts';

export interface RestAmounts {
  readonly clients?: number | undefined;
  readonly count?: number | undefined;
}

interface Reported {
  readonly name: string;
  readonly pid?: number;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

const unit = 'load';

/**
 * Reads of one unit through the REST API of a `capstan up`. The API server and the generator share the processors with it, so reads for each second of its own processor
 * time tell more than reads per second on a busy machine.
 */
export async function measureRest({ clients = 32, count = 30_000 }: RestAmounts): Promise<Measurement[]> {
  await using plane = await ControlPlane.start();
  const { pid, port } = await restOf(plane);
  const token = await prepare(plane);
  const path = `/clusters/root:main:${unit}/api/v1/gpu-units`;
  const text = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const get = text(`${path}/${unit}`);
  // Code is compiled while it runs.
  await load(port, { request: get, clients, count: Math.ceil(count / 5) });
  const before = processorSeconds([pid]);
  const gets = await load(port, { request: get, clients, count });
  const used = processorSeconds([pid]) - before;
  const lists = await load(port, { request: text(`${path}?limit=100`), clients, count: Math.ceil(count / 5) });
  return [
    { what: `gets of a unit, ${clients} clients`, value: count / gets.seconds, unit: 'per second', better: 'higher' },
    { what: 'gets of a unit for each second of its processor', value: count / used, unit: 'per second', better: 'higher' },
    { what: 'gets of a unit: p50', value: gets.latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: 'gets of a unit: p99', value: gets.latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `lists of a unit, ${clients} clients`, value: Math.ceil(count / 5) / lists.seconds, unit: 'per second', better: 'higher' },
    { what: 'answers that were not 200', value: gets.errors + lists.errors, unit: 'count', better: 'lower' },
  ];
}

async function restOf({ directory }: ControlPlane): Promise<{ readonly pid: number; readonly port: number }> {
  for (;;) {
    const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', directory.join('data'), '-o', 'json']);
    const { processes } = JSON.parse(stdout) as { processes: Reported[] };
    const found = processes.find(({ name }) => name === 'runtime-api');
    const port = found?.ports.find(({ name }) => name === 'http')?.port;
    if (found?.pid !== undefined && port !== undefined) return { pid: found.pid, port };
    await sleep(200);
  }
}

/** A project with a unit, and a token of an account that may read it. */
async function prepare({ platform }: ControlPlane): Promise<string> {
  const workspaces = platform.cluster('root:main').resource<Workspace>(workspaceKind);
  const spec = { type: { name: 'project', path: 'root' } };
  const workspace: Workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: unit }, spec };
  await until(async () => (await ignoring(workspaces.create(workspace), isNotFound, isForbidden)) !== undefined);
  const client = platform.cluster(`root:main:${unit}`);
  const units = client.resource(gpuUnitKind).in('default');
  const metadata = { name: unit, namespace: 'default' };
  const command = { running: false, resources: { cpu: 1 }, command: ['sleep', '1'] };
  await until(
    async () => (await ignoring(units.create(newObject(gpuUnitKind, { metadata, spec: command })), isNotFound, isForbidden)) !== undefined,
  );
  return tokenIn(client);
}

async function tokenIn(client: Client): Promise<string> {
  const accounts = client.resource({ group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true }).in('default');
  await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: unit, namespace: 'default' } });
  const group = 'rbac.authorization.k8s.io';
  await client.resource({ group, version: 'v1', resource: 'clusterrolebindings', namespaced: false }).create({
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: unit },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: unit }],
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
  } as KubeObject);
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const made = await accounts.writeSubresource<{ readonly status: { readonly token: string } }>(unit, {
    subresource: 'token',
    method: 'POST',
    body,
  });
  return made.status.token;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(100);
}

interface Load {
  readonly request: string;
  readonly clients: number;
  readonly count: number;
}

interface LoadResult {
  readonly seconds: number;
  readonly errors: number;
  readonly latencies: Latencies;
}

/** Each connection sends the next request as soon as the last was answered. */
async function load(port: number, { request, clients, count }: Load): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: clients }, () => opened(port)));
  const latencies = new Latencies(count);
  let [left, errors] = [count, 0];
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      while (left-- > 0) {
        const start = performance.now();
        if ((await ask(socket, request)) !== 200) errors++;
        latencies.add(performance.now() - start);
      }
      socket.destroy();
    }),
  );
  return { seconds: (performance.now() - began) / 1_000, errors, latencies };
}

function ask(socket: Socket, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const done = (): void => void socket.off('data', onData).off('close', onClose);
    const reader = new BodyReader((status) => {
      done();
      resolve(status);
    });
    const onData = (chunk: Buffer): void => {
      if (reader.read(chunk)) reader.finish();
    };
    const onClose = (): void => {
      done();
      reject(new Error('the REST API closed the connection'));
    };
    socket.on('data', onData).on('close', onClose).write(request, 'latin1');
  });
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket.setNoDelay(true)));
    socket.once('error', reject);
  });
}

import { PassThrough } from 'node:stream';
import type { NodeConnection } from '@capstan/streams';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createPlatform, fleetPath } from '../node-agents/testing/fleet.ts';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';

const path = '/capstan/metrics/nodes';
const patience = { timeout: 10_000, interval: 20 };
let server: TestServer;
/** By path. */
let answers: Readonly<Record<string, unknown>> = {};

const connection: NodeConnection = {
  request({ path: asked }) {
    const stream = new PassThrough();
    stream.end(JSON.stringify(answers[asked] ?? {}));
    return Promise.resolve({ status: 200, headers: {}, stream });
  },
};

beforeAll(async () => {
  server = await startTestServer({ usageAge: 20, tunnels: { to: (node) => (node === 'near' ? connection : undefined) } });
  await createPlatform(server);
  await createWorkspace(server, 'tenant1');
  const make = async (at: string, kind: string, body: object): Promise<void> => {
    const reply = await server.call(at, { method: 'POST', body: { apiVersion: 'fleet.capstan.dev/v1alpha1', kind, ...body } });
    if (reply.code !== 201) throw new Error(reply.text);
  };
  for (const name of ['near', 'away']) await make(`${fleetPath}/gpunodes`, 'GPUNode', { metadata: { name } });
  const namespaces = '/clusters/root:platform/api/v1/namespaces';
  for (const name of ['node-near', 'node-away'])
    await server.call(namespaces, { method: 'POST', body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } });
  const unit = (name: string, node: string) =>
    make(`${fleetPath}/namespaces/node-${node}/nodeunits`, 'NodeUnit', {
      metadata: { name: `${name}-1` },
      spec: {
        owner: { cluster: 'tenant1', namespace: 'default', name, uid: name },
        run: 1,
        allocation: 'a',
        devices: ['GPU-1'],
        cpu: 0,
        memory: 0,
        command: ['true'],
      },
    });
  await unit('train', 'near');
  await unit('foreign', 'away');
});
afterAll(() => server[Symbol.asyncDispose]());

const usage = (name: string) => ({
  name: `${name}-1`,
  // A node that lies about the owner is not believed.
  owner: { cluster: 'somebody', namespace: 'else', name: 'other', uid: 'u' },
  at: 1,
  window: 10_000,
  cpuMillis: 1_500,
  memoryBytes: 1024,
  gpus: [{ uuid: 'GPU-1', utilizationPercent: 87, memoryUsedBytes: 5 }],
});

test('has every node, GPU and unit with its labels', async () => {
  answers = {
    '/node/metrics': {
      gpus: [
        {
          uuid: 'GPU-1',
          model: 'H100',
          health: 'Healthy',
          memoryBytes: 10,
          latest: { utilizationPercent: 87, memoryUsedBytes: 5, temperatureCelsius: 60, powerWatts: 300.5 },
        },
        { uuid: 'GPU"\n2', model: '', health: 'Cursed', latest: { powerWatts: 'much', utilizationPercent: -1 } },
      ],
    },
    '/node/units/usage': { units: [usage('train'), usage('foreign'), usage('unknown')] },
  };
  await vi.waitFor(async () => expect((await server.call(path)).text).toContain('capstan_unit_cpu_cores'), patience);
  const reply = await server.call(path);
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = reply.text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const gpu = 'node="near",gpu="GPU-1",model="H100"';
  const unit = 'workspace="tenant1",namespace="default",unit="train",node="near"';
  expect(lines).toEqual([
    'capstan_node_up{node="away"} 0',
    'capstan_node_up{node="near"} 1',
    `capstan_gpu_utilization_ratio{${gpu}} 0.87`,
    `capstan_gpu_memory_used_bytes{${gpu}} 5`,
    `capstan_gpu_memory_total_bytes{${gpu}} 10`,
    `capstan_gpu_temperature_celsius{${gpu}} 60`,
    `capstan_gpu_power_watts{${gpu}} 300.5`,
    ...['Healthy', 'Degraded', 'Failed', 'Missing', 'Unknown'].map(
      (state, index) => `capstan_gpu_health{${gpu},state="${state}"} ${index === 0 ? 1 : 0}`,
    ),
    ...['Healthy', 'Degraded', 'Failed', 'Missing', 'Unknown'].map(
      (state, index) => `capstan_gpu_health{node="near",gpu="GPU\\"\\n2",model="",state="${state}"} ${index === 4 ? 1 : 0}`,
    ),
    `capstan_unit_cpu_cores{${unit}} 1.5`,
    `capstan_unit_memory_bytes{${unit}} 1024`,
    `capstan_unit_gpu_utilization_ratio{${unit},gpu="GPU-1",model="H100"} 0.87`,
    `capstan_unit_gpu_memory_used_bytes{${unit},gpu="GPU-1",model="H100"} 5`,
  ]);
});

test('is for those with the right on the path in root, and exists nowhere else', async () => {
  const as = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
  expect((await server.call(path, { headers: as })).code).toBe(403);
  expect((await server.call(`/clusters/tenant1${path}`)).code).toBe(404);
  expect((await server.call(path, { method: 'POST', body: {} })).code).toBe(405);
  const rules = [{ nonResourceURLs: [path], verbs: ['get'] }];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await server.call(`${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name: 'scraper' }, rules } });
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' }];
  const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'scraper' };
  await server.call(`${rbac}/clusterrolebindings`, { method: 'POST', body: { metadata: { name: 'scraper' }, subjects, roleRef } });
  expect((await server.call(path, { headers: as })).code).toBe(200);
});

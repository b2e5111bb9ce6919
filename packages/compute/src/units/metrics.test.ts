import { PassThrough } from 'node:stream';
import type { GPUUnit, UnitUsage } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { fleet as wholeFleet } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import type { NodeConnection } from '@capstan/streams';
import { run } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { compute } from '../product.ts';
import { PretendFleet, TenantUnits } from './testing/pretend-fleet.ts';

const patiently = { timeout: 20_000, interval: 20 };
const podMetricsKind = { group: 'metrics.k8s.io', version: 'v1beta1', resource: 'pods', namespaced: true };

let cloud: Cloud;
let units: GPUUnit[];
/** The answer of every node. */
let answer: { status: number; body: string } = { status: 200, body: '{}' };

/** Nodes whose agents say what the test wants. */
const connection: NodeConnection = {
  request() {
    const stream = new PassThrough();
    stream.end(answer.body);
    return Promise.resolve({ status: answer.status, headers: {}, stream });
  },
};

beforeAll(async () => {
  const products = [{ ...wholeFleet, controllers: [] }, compute];
  cloud = await startCloud({
    products,
    tenants: 2,
    server: { usageAge: 50, tunnels: { to: (node) => (node === 'metrics-0' ? connection : undefined) } },
  });
  const fleet = new PretendFleet(cloud.platform);
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]), patiently);
  await fleet.makePool('metrics');
  units = await Promise.all(
    cloud.tenants.map(async ({ client }) => {
      const unit = await new TenantUnits(client).create('same', { offering: 'metrics' });
      const pods = client.resource({ group: '', version: 'v1', resource: 'pods', namespaced: true }).in('default');
      await vi.waitFor(() => pods.get('same'), patiently);
      return unit;
    }),
  );
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const clusterOf = ({ metadata }: KubeObject): string => metadata.annotations?.['kcp.io/cluster'] ?? '';

function usageOf(unit: GPUUnit, change: Partial<UnitUsage> = {}): UnitUsage {
  const { name = '', namespace = '', uid = '' } = unit.metadata;
  return {
    name: `${uid}-1`,
    owner: { cluster: clusterOf(unit as unknown as KubeObject), namespace, name, uid },
    at: Date.parse('2026-01-02T03:04:05Z'),
    window: 10_000,
    cpuMillis: 250,
    memoryBytes: 64 * 2 ** 20,
    gpus: [{ uuid: 'GPU-1', utilizationPercent: 87, memoryUsedBytes: 1 << 30 }],
    ...change,
  };
}

const say = (...usage: unknown[]): void => {
  answer = { status: 200, body: JSON.stringify({ units: usage }) };
};
const metrics = (tenant = 0) => cloud.tenants[tenant]!.client.resource(podMetricsKind).in('default');
const untilShown = (tenant: number, cpu: string) =>
  vi.waitFor(async () => expect((await metrics(tenant).list()).items[0]).toMatchObject({ containers: [{ usage: { cpu } }] }), patiently);

describe('metrics.k8s.io', () => {
  test('has the use of the units of a workspace, and of no other', async () => {
    say(usageOf(units[0]!), usageOf(units[1]!, { cpuMillis: 999 }));
    await untilShown(0, '250m');
    expect((await metrics(0).list()).items).toEqual([
      {
        kind: 'PodMetrics',
        apiVersion: 'metrics.k8s.io/v1beta1',
        metadata: {
          name: 'same',
          namespace: 'default',
          creationTimestamp: '2026-01-02T03:04:05Z',
          labels: { 'compute.capstan.dev/unit': 'same' },
        },
        timestamp: '2026-01-02T03:04:05Z',
        window: '10s',
        containers: [{ name: 'unit', usage: { cpu: '250m', memory: '65536Ki' } }],
        gpus: [{ uuid: 'GPU-1', utilizationPercent: 87, memoryUsedBytes: 1 << 30 }],
      },
    ]);
    expect(await metrics(1).get('same')).toMatchObject({ containers: [{ usage: { cpu: '999m' } }] });
    expect((await metrics(0).list({ labelSelector: 'a=b' })).items).toEqual([]);
    await expect(metrics(0).get('other')).rejects.toSatisfy(isNotFound);
  });

  test('is read-only, and served only where pods show units', async () => {
    await expect(metrics().delete('same')).rejects.toMatchObject({ code: 405 });
    const groups = async (path: string): Promise<string> => (await cloud.server.call(`${path}/apis`)).text;
    expect(await groups(`/clusters/${cloud.tenants[0]!.path}`)).toContain('"metrics.k8s.io/v1beta1"');
    expect(await groups('')).not.toContain('metrics.k8s.io');
    expect(await groups('/clusters/root:platform')).not.toContain('metrics.k8s.io');
  });

  test('needs the right to get or list pods.metrics.k8s.io', async () => {
    const path = `/clusters/${cloud.tenants[0]!.path}/apis/metrics.k8s.io/v1beta1/namespaces/default/pods`;
    const as = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
    expect((await cloud.server.call(path, { headers: as })).code).toBe(403);
  });

  test.each([
    ['of a unit of another workspace', () => [usageOf(units[0]!, { owner: usageOf(units[1]!).owner })]],
    ['of a former unit with the same name', () => [usageOf(units[0]!, { owner: { ...usageOf(units[0]!).owner, uid: 'former' } })]],
    ['that are no amounts', () => [{ ...usageOf(units[0]!), cpuMillis: -1 }, { ...usageOf(units[0]!), memoryBytes: '1Gi' }, 7, null]],
    ['of a time that does not exist', () => [usageOf(units[0]!, { at: 1e16 })]],
  ])('ignores numbers %s', { timeout: 30_000 }, async (_, usage) => {
    say(...usage());
    await vi.waitFor(async () => expect((await metrics(0).list()).items).toEqual([]), patiently);
    say(usageOf(units[0]!));
    await untilShown(0, '250m');
  });
});

await describeWith(['kubectl'], 'kubectl top', ({ kubectl }) => {
  test('prints the use of units', async () => {
    const server = ['--kubeconfig', cloud.server.kubeconfigPath, '--server', `${cloud.server.url}/clusters/${cloud.tenants[0]!.path}`];
    const top = (...more: string[]) => run(kubectl, [...server, 'top', 'pod', ...more]);
    say(usageOf(units[0]!));
    await untilShown(0, '250m');
    const plain = await top();
    expect([
      plain.code,
      plain.stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/ +/)),
    ]).toEqual([
      0,
      [
        ['NAME', 'CPU(cores)', 'MEMORY(bytes)'],
        ['same', '250m', '64Mi'],
      ],
    ]);
    expect((await top('same', '--containers')).stdout).toMatch(/same +unit +250m +64Mi/);
  });
});

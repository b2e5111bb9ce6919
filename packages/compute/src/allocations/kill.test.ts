import {
  type Allocation,
  allocationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeTask,
  newObject,
  nodeBookingKind,
  nodeTaskKind,
  type Offering,
  offeringKind,
  usagePath,
} from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { fleet as wholeFleet } from '@capstan/fleet';
import { makeNodeNamespace, pretendAgents } from '@capstan/fleet/testing';
import type { JsonObject } from '@capstan/machinery';
import type { Product } from '@capstan/platform';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { mortal } from './testing.ts';

const patiently = { timeout: 60_000, interval: 30 };
let deaths = 0;

/** All controllers of the product are killed after every single write. */
function dying({ controllers, ...product }: Product): Product {
  const onDeath = (): void => void deaths++;
  return {
    ...product,
    controllers: controllers
      .filter(({ name }) => name !== 'nodes')
      .map(({ name, make }) => ({ name, make: (places) => mortal(make(places), { writes: 1, onDeath }) })),
  };
}

let cloud: Cloud;
let agents: AsyncDisposable;
beforeAll(async () => {
  cloud = await startCloud({ products: [dying(wholeFleet), dying(computeProduct({ explainEvery: 30 }))] });
  await vi.waitFor(() => Promise.all([nodes().list(), bookings().list()]), patiently);
  agents = pretendAgents(cloud.platform, (node, task) => {
    cleaned.push(`${node} ${task.metadata.name}`);
    return { phase: 'Succeeded' };
  });
}, 90_000);
afterAll(async () => {
  await agents[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

const cleaned: string[] = [];
const nodes = () => cloud.platform.resource<GPUNode>(gpuNodeKind);
const bookings = () => cloud.platform.resource<NodeBooking>(nodeBookingKind);
const allocations = () => cloud.tenants[0]!.client.resource<Allocation>(allocationKind).in('default');

async function makeNode(name: string): Promise<void> {
  await nodes().create(newObject(gpuNodeKind, { metadata: { name }, spec: {} }));
  await makeNodeNamespace(cloud.platform, name);
  const at = '2026-01-01T00:00:00Z';
  const status = {
    machine: { hostname: name, cpus: 64, memoryBytes: 2 ** 40, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
    gpus: [0, 1].map((index) => ({
      uuid: `${name}-${index}`,
      model: 'H100',
      memoryBytes: 80 * 2 ** 30,
      health: { state: 'Healthy', reason: 'Healthy', message: '', since: at },
    })),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: at }],
  };
  await nodes().patch(name, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
}

test('a scheduler and a cleaner that are killed between every two writes grant, release and clean everything, once', async () => {
  for (const name of ['k1', 'k2', 'k3']) await makeNode(name);
  const spec = { gpu: { model: 'H100', count: 2 }, cpu: 0, memory: 0 };
  await cloud.platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: 'pair' }, spec }) as Offering);
  const order = (name: string, count: number) =>
    allocations().create(
      newObject(allocationKind, { metadata: { name, namespace: 'default' }, spec: { offering: 'pair', nodes: count } }) as Allocation,
    );
  await order('gang', 2);
  await order('single', 1);
  const areActive = (...names: string[]) =>
    vi.waitFor(async () => {
      for (const name of names) expect((await allocations().get(name)).status?.phase).toBe('Active');
    }, patiently);
  await areActive('gang', 'single');
  await order('next', 3);
  const { items: before } = await bookings().list();
  const devices = before.flatMap(({ spec: { entries } }) => entries.flatMap((entry) => entry.devices));
  expect(devices.toSorted()).toEqual(['k1-0', 'k1-1', 'k2-0', 'k2-1', 'k3-0', 'k3-1']);
  expect(before.flatMap(({ spec: { entries } }) => entries.map(({ state }) => state))).toEqual(['Granted', 'Granted', 'Granted']);
  const cluster = clusterOf((await allocations().list()).items[0]!);
  const uids = (await allocations().list()).items.map(({ metadata }) => metadata.uid);
  for (const name of ['gang', 'single']) await allocations().delete(name);
  await areActive('next');
  const { items: tasks } = await cloud.platform.resource<NodeTask>(nodeTaskKind).list();
  expect(tasks.map(({ metadata }) => metadata.namespace ?? '').toSorted()).toEqual(['node-k1', 'node-k2', 'node-k3']);
  expect(new Set(cleaned).size).toBe(3);
  await allocations().delete('next');
  await vi.waitFor(async () => {
    expect((await bookings().list()).items.flatMap(({ spec: { entries } }) => entries)).toEqual([]);
    expect((await allocations().list()).items).toEqual([]);
  }, patiently);
  expect(deaths).toBeGreaterThan(20);
  for (const uid of uids) {
    const path = `${usagePath}?allocation=${cluster}/${uid}`;
    expect(await cloud.platform.json({ method: 'GET', path })).toMatchObject({ begun: true, open: false });
  }
}, 120_000);

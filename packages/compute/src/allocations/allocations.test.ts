import {
  type Allocation,
  type AllocationSpec,
  allocationFinalizer,
  allocationKind,
  asAllocationId,
  type BookingEntry,
  type ComputeUsage,
  computeUsageKind,
  type FleetQuota,
  fleetQuotaKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeReservation,
  type NodeTask,
  type NodeUnit,
  newObject,
  nodeBookingKind,
  nodeReservationKind,
  nodeTaskKind,
  nodeUnitKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import { clusterOf, isNotFound } from '@capstan/client';
import { findCondition, ignoring } from '@capstan/controller';
import { fleetProduct, fleet as wholeFleet } from '@capstan/fleet';
import { makeNodeNamespace, pretendAgents } from '@capstan/fleet/testing';
import type { JsonObject } from '@capstan/machinery';
import type { Product } from '@capstan/platform';
import { type Cloud, startCloud, type Tenant } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { allocations as scheduler } from './controller.ts';

/** The tests say whether nodes are ready. */
const fleet: Product = { ...wholeFleet, controllers: wholeFleet.controllers.filter(({ name }) => name !== 'nodes') };
const options = { explainEvery: 30 };
const compute = computeProduct(options);
const withoutScheduler: Product = { ...compute, controllers: [] };
const withTwoSchedulers: Product = {
  ...compute,
  controllers: ['one', 'two'].map((name) => ({ name, make: ({ tenants }) => scheduler(tenants, options) })),
};
const patiently = { timeout: 20_000, interval: 30 };

let cloud: Cloud;
let agents: ReturnType<typeof pretendAgents>;
/** Nodes whose agents do not answer. */
const silent = new Set<string>();
/** The leftovers that cleanings find, by node. */
const remaining = new Map<string, string>();
beforeAll(async () => {
  cloud = await startCloud({ products: [fleet, compute], tenants: 2 });
  await vi.waitFor(() => Promise.all([nodes().list(), bookings().list()]), patiently);
  agents = pretendAgents(cloud.platform, (node) => {
    if (silent.has(node)) return undefined;
    const message = remaining.get(node);
    if (message === undefined) return { phase: 'Succeeded' };
    return { phase: 'Failed', error: { code: 'NotClean', message, userFixable: false, retryable: true } };
  });
}, 90_000);
afterAll(async () => {
  await agents[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

const tenant = (number: 0 | 1 = 0): Tenant => cloud.tenants[number]!;
const nodes = () => cloud.platform.resource<GPUNode>(gpuNodeKind);
const bookings = () => cloud.platform.resource<NodeBooking>(nodeBookingKind);
const of = ({ client }: Tenant = tenant()) => client.resource<Allocation>(allocationKind).in('default');

/** Each test has a pool of its own, with nodes `<pool>-0`, `<pool>-1`…, and an offering of the same name. */
async function makePool(pool: string, { nodes: count = 1, gpus = 8, each = 1 }: { nodes?: number; gpus?: number; each?: number } = {}) {
  for (let number = 0; number < count; number++) await makeNode(`${pool}-${number}`, pool, { gpus });
  const spec = { gpu: { model: 'H100', count: each }, cpu: 0, memory: 0, pools: [pool] };
  await cloud.platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: pool }, spec }) as Offering);
}

async function makeNode(name: string, pool: string, { gpus, model = 'H100' }: { gpus: number; model?: string }): Promise<void> {
  await nodes().create(newObject(gpuNodeKind, { metadata: { name }, spec: { pool } }));
  await makeNodeNamespace(cloud.platform, name);
  const now = '2026-01-01T00:00:00Z';
  const ready = { type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: now };
  const status = {
    machine: { hostname: name, cpus: 64, memoryBytes: 2 ** 40, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
    gpus: Array.from({ length: gpus }, (_, index) => ({
      uuid: `${name}-gpu-${index}`,
      model,
      memoryBytes: 80 * 2 ** 30,
      health: { state: 'Healthy', reason: 'Healthy', message: '', since: now },
    })),
    conditions: [ready],
  };
  await nodes().patch(name, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
}

async function order(name: string, spec: Partial<AllocationSpec> & { offering: string }, from = tenant()): Promise<Allocation> {
  return of(from).create(newObject(allocationKind, { metadata: { name, namespace: 'default' }, spec }) as Allocation);
}

const phase = async (name: string, from = tenant()) => (await of(from).get(name)).status?.phase;
const active = (name: string, from = tenant()) => vi.waitFor(async () => expect(await phase(name, from)).toBe('Active'), patiently);
const message = (name: string, text: unknown, from = tenant()) =>
  vi.waitFor(async () => expect((await of(from).get(name)).status).toMatchObject({ phase: 'Pending', message: text }), patiently);
const gone = (name: string) => vi.waitFor(async () => expect(await ignoring(of().get(name), isNotFound)).toBeUndefined(), patiently);
const entriesOn = async (node: string): Promise<readonly BookingEntry[]> =>
  (await ignoring(bookings().get(node), isNotFound))?.spec.entries ?? [];

describe('allocations', () => {
  test('are granted with devices that only they have, and say so', async () => {
    await makePool('plain', { gpus: 4, each: 2 });
    await order('plain-a', { offering: 'plain' });
    await order('plain-b', { offering: 'plain' }, tenant(1));
    await active('plain-a');
    await active('plain-b', tenant(1));
    const [a, b] = [await of().get('plain-a'), await of(tenant(1)).get('plain-b')];
    const devices = [a, b].flatMap(({ status }) => status!.parts!.flatMap((part) => part.devices));
    expect(new Set(devices)).toEqual(new Set([0, 1, 2, 3].map((index) => `plain-0-gpu-${index}`)));
    expect(a.status).toMatchObject({ observedGeneration: 1, conditions: [{ type: 'Granted', status: 'True', observedGeneration: 1 }] });
    expect(a.status).not.toHaveProperty('message');
    const events = { group: '', version: 'v1', resource: 'events', namespaced: true };
    await vi.waitFor(async () => {
      const { items } = await tenant().client.resource(events).in('default').list();
      expect(items).toContainEqual(expect.objectContaining({ reason: 'Granted', message: '2 GPUs on plain-0' }));
    }, patiently);
  });

  test('wait with the exact reason, and get what others release', async () => {
    await makePool('short', { nodes: 2, gpus: 4, each: 3 });
    for (const name of ['short-a', 'short-b']) {
      await order(name, { offering: 'short' });
      await active(name);
    }
    await order('short-c', { offering: 'short' });
    await message('short-c', 'needs 3 H100 on one node; free: 1 on short-0, 1 on short-1');
    await of().delete('short-a');
    await gone('short-a');
    await active('short-c');
    const entries = [...(await entriesOn('short-0')), ...(await entriesOn('short-1'))];
    expect(new Set(entries.map(({ allocation, state }) => `${allocation.name} ${state}`))).toEqual(
      new Set(['short-b Granted', 'short-c Granted']),
    );
  });

  test('wait until their offering exists', async () => {
    await order('early', { offering: 'later' });
    await message('early', 'there is no offering later');
    await makePool('later');
    await active('early');
  });

  test('with several nodes get all of them or none', async () => {
    await makePool('gang', { nodes: 3, gpus: 2, each: 2 });
    await order('gang-two', { offering: 'gang', nodes: 2 });
    await active('gang-two');
    const { status } = await of().get('gang-two');
    expect(new Set(status!.parts!.map(({ node }) => node)).size).toBe(2);
    for (const { node } of status!.parts!) expect(await entriesOn(node)).toMatchObject([{ state: 'Granted', attempt: status!.attempt }]);
    await order('gang-again', { offering: 'gang', nodes: 2 });
    await message('gang-again', expect.stringContaining('needs 2 nodes with 2 H100 each'));
    const free = ['gang-0', 'gang-1', 'gang-2'].find((name) => !status!.parts!.some(({ node }) => node === name))!;
    expect(await entriesOn(free)).toEqual([]);
    await of().delete('gang-two');
    await active('gang-again');
  });

  test('do not go to nodes that are cordoned or silent, and keep what they have there', async () => {
    await makePool('closed');
    await order('closed-a', { offering: 'closed' });
    await active('closed-a');
    await nodes().patch('closed-0', { type: 'merge', patch: { spec: { unschedulable: true } } });
    await order('closed-b', { offering: 'closed' });
    await message('closed-b', expect.stringContaining('cordoned'));
    const silent = { type: 'Ready', status: 'Unknown', reason: 'Silent', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    await nodes().patch('closed-0', { type: 'merge', patch: { status: { conditions: [silent] } } }, { subresource: 'status' });
    await nodes().patch('closed-0', { type: 'merge', patch: { spec: { unschedulable: false } } });
    await message('closed-b', expect.stringMatching(/silent|not ready/));
    expect(await entriesOn('closed-0')).toMatchObject([{ state: 'Granted', allocation: { name: 'closed-a' } }]);
    await nodes().patch(
      'closed-0',
      { type: 'merge', patch: { status: { conditions: [{ ...silent, status: 'True' }] } } },
      { subresource: 'status' },
    );
    await active('closed-b');
  });

  test('wait beyond a limit of their workspace or one above it, until it is raised or something is released', async () => {
    await makePool('limited', { each: 3 });
    const quotas = cloud.platform.resource<FleetQuota>(fleetQuotaKind);
    const limit = (name: string, workspace: string, limits: object) =>
      quotas.create(newObject(fleetQuotaKind, { metadata: { name }, spec: { workspace, limits } }) as FleetQuota);
    await limit('limited-project', 'root:main:tenant-2', { models: { H100: 6 } });
    await limit('limited-organization', 'root:main', { allocations: 100 });
    await order('limited-a', { offering: 'limited' }, tenant(1));
    await active('limited-a', tenant(1));
    await order('limited-b', { offering: 'limited' }, tenant(1));
    const sentence = 'the limit of root:main:tenant-2 is 6 H100; 5 H100 are in use, and 3 H100 were asked for';
    await message('limited-b', sentence, tenant(1));
    expect(findCondition((await of(tenant(1)).get('limited-b')).status?.conditions, 'Granted')).toMatchObject({
      status: 'False',
      reason: 'QuotaExceeded',
    });
    const usage = tenant(1).client.resource<ComputeUsage>(computeUsageKind);
    await vi.waitFor(
      async () =>
        expect((await usage.get('current')).status?.limits).toEqual([
          { workspace: 'root:main:tenant-2', resource: 'model', model: 'H100', limit: 6, used: 5 },
          { workspace: 'root:main', resource: 'allocations', limit: 100, used: expect.any(Number) },
        ]),
      patiently,
    );
    await of(tenant(1)).delete('limited-a');
    await active('limited-b', tenant(1));
    await order('limited-c', { offering: 'limited' }, tenant(1));
    await message('limited-c', sentence, tenant(1));
    await quotas.patch('limited-project', { type: 'merge', patch: { spec: { limits: { models: { H100: 8 } } } } });
    await active('limited-c', tenant(1));
    await quotas.delete('limited-project');
    await quotas.delete('limited-organization');
    await vi.waitFor(async () => expect((await usage.get('current')).status?.limits).toEqual([]), patiently);
  });

  test('beyond a limit that counts only when they are placed leave the devices to others, however important they are', async () => {
    await makePool('unknown', { gpus: 2, each: 2 });
    const offering = { gpu: { count: 2 }, cpu: 0, memory: 0, pools: ['unknown'] };
    await cloud.platform
      .resource<Offering>(offeringKind)
      .create(newObject(offeringKind, { metadata: { name: 'unknown-any' }, spec: offering }) as Offering);
    await order('unknown-first', { offering: 'unknown' });
    await active('unknown-first');
    const quotas = cloud.platform.resource<FleetQuota>(fleetQuotaKind);
    const spec = { workspace: 'root:main:tenant-2', limits: { models: { H100: 1 } } };
    await quotas.create(newObject(fleetQuotaKind, { metadata: { name: 'unknown-project' }, spec }) as FleetQuota);
    await order('unknown-limited', { offering: 'unknown-any', priority: 9 }, tenant(1));
    await order('unknown-next', { offering: 'unknown' });
    await message('unknown-limited', expect.stringContaining('none is free'), tenant(1));
    await of().delete('unknown-first');
    await active('unknown-next');
    await of().delete('unknown-next');
    await message('unknown-limited', expect.stringMatching(/^the limit of root:main:tenant-2 is 1 H100; /), tenant(1));
    await quotas.delete('unknown-project');
    await active('unknown-limited', tenant(1));
    await of(tenant(1)).delete('unknown-limited');
  });

  test('beyond a limit that counts only when they are placed leave their share of all limits to younger ones', async () => {
    await makePool('share', { gpus: 4, each: 1 });
    const offering = { gpu: { count: 2 }, cpu: 0, memory: 0, pools: ['share'] };
    await cloud.platform
      .resource<Offering>(offeringKind)
      .create(newObject(offeringKind, { metadata: { name: 'share-any' }, spec: offering }) as Offering);
    const newcomer = await cloud.addTenant();
    const quotas = cloud.platform.resource<FleetQuota>(fleetQuotaKind);
    const spec = { workspace: newcomer.path, limits: { gpus: 2, models: { H100: 1 } } };
    await quotas.create(newObject(fleetQuotaKind, { metadata: { name: 'share-project' }, spec }) as FleetQuota);
    await order('share-limited', { offering: 'share-any' }, newcomer);
    const sentence = `the limit of ${newcomer.path} is 1 H100; 0 H100 are in use, and 2 H100 were asked for`;
    await message('share-limited', sentence, newcomer);
    await order('share-next', { offering: 'share' }, newcomer);
    await active('share-next', newcomer);
    expect(await phase('share-limited', newcomer)).toBe('Pending');
    for (const name of ['share-limited', 'share-next']) await of(newcomer).delete(name);
    await quotas.delete('share-project');
  });

  test('for any model get one that their limits allow', async () => {
    await makeNode('models-0', 'models', { gpus: 2, model: 'A100' });
    await makeNode('models-1', 'models', { gpus: 2 });
    const offering = { gpu: { count: 2 }, cpu: 0, memory: 0, pools: ['models'] };
    await cloud.platform
      .resource<Offering>(offeringKind)
      .create(newObject(offeringKind, { metadata: { name: 'models-any' }, spec: offering }) as Offering);
    const newcomer = await cloud.addTenant();
    const quotas = cloud.platform.resource<FleetQuota>(fleetQuotaKind);
    const spec = { workspace: newcomer.path, limits: { models: { A100: 1 } } };
    await quotas.create(newObject(fleetQuotaKind, { metadata: { name: 'models-project' }, spec }) as FleetQuota);
    await order('models-first', { offering: 'models-any' }, newcomer);
    await active('models-first', newcomer);
    expect(await entriesOn('models-1')).toMatchObject([{ allocation: { name: 'models-first' } }]);
    await order('models-second', { offering: 'models-any' }, newcomer);
    await message('models-second', `the limit of ${newcomer.path} is 1 A100; 0 A100 are in use, and 2 A100 were asked for`, newcomer);
    for (const name of ['models-first', 'models-second']) await of(newcomer).delete(name);
    await quotas.delete('models-project');
  });

  test('do not get nodes that are reserved for others, until the reservation ends', async () => {
    await makePool('reserved', { gpus: 2, each: 2 });
    const reservations = cloud.platform.resource<NodeReservation>(nodeReservationKind);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const reserve = (name: string, spec: object) =>
      reservations.create(newObject(nodeReservationKind, { metadata: { name }, spec } as never) as NodeReservation);
    await reserve('kept', { workspace: 'root:main:tenant-2', until, nodes: [{ node: 'reserved-0' }] });
    const later = new Date(Date.now() + 1_800_000).toISOString();
    await reserve('later', { workspace: 'root:other', from: later, until, nodes: [{ node: 'reserved-0' }] });
    await order('reserved-other', { offering: 'reserved' });
    await message('reserved-other', 'needs 2 H100 on one node; none is free on 1 node; 2 are reserved for others on reserved-0');
    await order('reserved-own', { offering: 'reserved' }, tenant(1));
    await active('reserved-own', tenant(1));
    await of(tenant(1)).delete('reserved-own');
    await vi.waitFor(async () => expect(await entriesOn('reserved-0')).toEqual([]), patiently);
    expect(await phase('reserved-other')).toBe('Pending');
    await reservations.patch('kept', { type: 'merge', patch: { spec: { until: new Date(Date.now() + 300).toISOString() } } });
    await active('reserved-other');
    await vi.waitFor(async () => expect(await ignoring(reservations.get('kept'), isNotFound)).toBeUndefined(), patiently);
    await reservations.delete('later');
  });

  test('are given to the tenant with the smaller share first, also if another has waited longer', async () => {
    await makePool('fair', { gpus: 4 });
    for (const name of ['fair-a', 'fair-b', 'fair-c']) await order(name, { offering: 'fair' });
    await order('fair-d', { offering: 'fair' }, tenant(1));
    for (const name of ['fair-a', 'fair-b', 'fair-c']) await active(name);
    await active('fair-d', tenant(1));
    await order('fair-old', { offering: 'fair' });
    await message('fair-old', expect.stringContaining('none is free'));
    await order('fair-young', { offering: 'fair' }, tenant(1));
    await message('fair-young', expect.stringContaining('none is free'), tenant(1));
    await of().delete('fair-a');
    await active('fair-young', tenant(1));
    expect(await phase('fair-old')).toBe('Pending');
    for (const name of ['fair-b', 'fair-c', 'fair-old']) await of().delete(name);
    for (const name of ['fair-d', 'fair-young']) await of(tenant(1)).delete(name);
  });

  test('for several nodes that have waited long keep what is freed, even from orders with a higher priority', async () => {
    const rules = { holdAfter: 0, holdFor: 600_000, mostHolds: 8 };
    await makePool('hold', { nodes: 2, gpus: 1 });
    for (const name of ['hold-a', 'hold-b']) {
      await order(name, { offering: 'hold' });
      await active(name);
    }
    await cloud.replaceProducts([fleet, computeProduct({ ...options, rules })]);
    await order('hold-gang', { offering: 'hold', nodes: 2 });
    await message('hold-gang', expect.stringContaining('needs 2 nodes'));
    await order('hold-small', { offering: 'hold', priority: 9 });
    await message('hold-small', expect.stringContaining('none is free'));
    await of().delete('hold-a');
    await message('hold-small', expect.stringMatching(/kept for older orders/));
    await of().delete('hold-b');
    await active('hold-gang');
    expect(await phase('hold-small')).toBe('Pending');
    await of().delete('hold-gang');
    await active('hold-small');
    await cloud.replaceProducts([fleet, compute]);
  });

  test('are protected from their creation, so that a grant needs no write for that', async () => {
    expect((await order('protected-a', { offering: 'none' })).metadata.finalizers).toEqual([allocationFinalizer]);
    await of().delete('protected-a');
    await gone('protected-a');
  });

  test('are released only with the consent of the scheduler', async () => {
    await makePool('leaving');
    await order('leaving-a', { offering: 'leaving' });
    await active('leaving-a');
    await cloud.replaceProducts([fleet, withoutScheduler]);
    await of().delete('leaving-a');
    expect(await entriesOn('leaving-0')).toHaveLength(1);
    expect((await of().get('leaving-a')).metadata.finalizers).toEqual(['compute.capstan.dev/bookings']);
    await cloud.replaceProducts([fleet, compute]);
    await gone('leaving-a');
    await vi.waitFor(async () => expect(await entriesOn('leaving-0')).toEqual([]), patiently);
  });

  test('are cleaned up only after the agent has ended their units', async () => {
    await makePool('occupied');
    await order('occupied-a', { offering: 'occupied' });
    await active('occupied-a');
    const allocation = await of().get('occupied-a');
    const uid = allocation.metadata.uid!;
    const owner = { cluster: clusterOf(allocation)!, namespace: 'default', name: 'unit', uid: 'unit' };
    const spec = { owner, run: 1, allocation: uid, devices: [], cpu: 0, memory: 0, command: ['sleep'] };
    const units = cloud.platform.resource<NodeUnit>(nodeUnitKind).in('node-occupied-0');
    await units.create(newObject(nodeUnitKind, { metadata: { name: 'unit-1', namespace: 'node-occupied-0' }, spec } as never) as NodeUnit);
    await of().delete('occupied-a');
    await gone('occupied-a');
    await vi.waitFor(async () => expect(await entriesOn('occupied-0')).toMatchObject([{ state: 'Releasing' }]), patiently);
    expect((await cloud.platform.resource<NodeTask>(nodeTaskKind).in('node-occupied-0').list()).items).toEqual([]);
    await units.patch('unit-1', { type: 'merge', patch: { status: { phase: 'Ended' } } }, { subresource: 'status' });
    await vi.waitFor(async () => expect(await entriesOn('occupied-0')).toEqual([]), patiently);
  });

  test('do not get devices before the node is clean, and their former owner does not wait for that', async () => {
    await makePool('dirty', { gpus: 2, each: 2 });
    silent.add('dirty-0');
    await order('dirty-a', { offering: 'dirty' });
    await active('dirty-a');
    await order('dirty-b', { offering: 'dirty' });
    await of().delete('dirty-a');
    await gone('dirty-a');
    await message('dirty-b', 'needs 2 H100 on one node; none is free on 1 node; 2 are being cleaned on dirty-0');
    await vi.waitFor(async () => expect(await entriesOn('dirty-0')).toMatchObject([{ state: 'Cleaning' }]), patiently);
    silent.clear();
    remaining.set('dirty-0', 'process 7: could not be ended');
    await agents.look();
    await message('dirty-b', 'needs 2 H100 on one node; none is free on 1 node; 2 could not be cleaned on dirty-0');
    const clean = (await nodes().get('dirty-0')).status?.conditions?.find(({ type }) => type === 'Clean');
    expect(clean).toMatchObject({ status: 'False', message: expect.stringContaining('process 7: could not be ended') });
    remaining.clear();
    const tasks = cloud.platform.resource<NodeTask>(nodeTaskKind).in('node-dirty-0');
    const [task] = (await tasks.list()).items;
    await tasks.patch(task!.metadata.name!, { type: 'merge', patch: { spec: { attempt: 2 } } });
    await active('dirty-b');
    expect((await entriesOn('dirty-0')).map(({ state }) => state)).toEqual(['Granted']);
    await vi.waitFor(
      async () =>
        expect((await nodes().get('dirty-0')).status?.conditions).toContainEqual(
          expect.objectContaining({ type: 'Clean', status: 'True' }),
        ),
      patiently,
    );
  });
});

test('a node that could not be cleaned is cleaned again by itself', async () => {
  const patient = fleetProduct({ cleaningRetry: { base: 100, max: 100 } });
  await cloud.replaceProducts([{ ...patient, controllers: patient.controllers.filter(({ name }) => name !== 'nodes') }, compute]);
  await makePool('retried');
  remaining.set('retried-0', '/data: is still mounted');
  await order('retried-a', { offering: 'retried' });
  await active('retried-a');
  await of().delete('retried-a');
  const tasks = cloud.platform.resource<NodeTask>(nodeTaskKind).in('node-retried-0');
  await vi.waitFor(async () => expect((await tasks.list()).items[0]?.spec.attempt).toBeGreaterThan(2), patiently);
  expect(await entriesOn('retried-0')).toMatchObject([{ state: 'Cleaning' }]);
  remaining.clear();
  await vi.waitFor(async () => expect(await entriesOn('retried-0')).toEqual([]), patiently);
  await cloud.replaceProducts([fleet, compute]);
});

describe('a scheduler', () => {
  test('goes on where another one was killed between the booking and the status', async () => {
    await cloud.replaceProducts([fleet, withoutScheduler]);
    await makePool('crash', { nodes: 3, gpus: 2 });
    const cluster = clusterOf(await order('crash-one', { offering: 'crash' }))!;
    await order('crash-gang', { offering: 'crash', nodes: 2 });
    const reference = async (name: string) => ({ cluster, namespace: 'default', name, uid: (await of().get(name)).metadata.uid! });
    const amounts = (node: string) => ({ devices: [`${node}-gpu-1`], cpu: 0, memory: 0 });
    const book = async (node: string, entry: object) =>
      bookings().create(newObject(nodeBookingKind, { metadata: { name: node }, spec: { entries: [entry as BookingEntry] } }));
    await book('crash-0', { allocation: await reference('crash-one'), attempt: 'first', state: 'Granted', ...amounts('crash-0') });
    const gang = ['crash-1', 'crash-2'].map((node) => ({ node, ...amounts(node) }));
    await book('crash-1', { allocation: await reference('crash-gang'), attempt: 'second', state: 'Held', ...amounts('crash-1'), gang });
    const orphan = { cluster, namespace: 'default', name: 'crash-never', uid: asAllocationId('nobody') };
    await bookings().create(
      newObject(nodeBookingKind, {
        metadata: { name: 'crash-2' },
        spec: {
          entries: [
            { allocation: orphan, attempt: 'third', state: 'Granted', devices: ['crash-2-gpu-0'], cpu: 0, memory: 0 } as BookingEntry,
          ],
        },
      }),
    );
    await cloud.replaceProducts([fleet, compute]);
    await active('crash-one');
    await active('crash-gang');
    expect((await of().get('crash-one')).status).toMatchObject({
      attempt: 'first',
      parts: [{ node: 'crash-0', devices: ['crash-0-gpu-1'] }],
    });
    expect((await of().get('crash-gang')).status).toMatchObject({ attempt: 'second', parts: [{ node: 'crash-1' }, { node: 'crash-2' }] });
    await vi.waitFor(async () => expect(await entriesOn('crash-2')).toMatchObject([{ attempt: 'second', state: 'Granted' }]), patiently);
  });

  test('shares the fleet with a second one: 50 allocations, and no device is booked twice', async () => {
    await makePool('busy', { nodes: 5, gpus: 8 });
    await cloud.replaceProducts([fleet, withTwoSchedulers]);
    const names = Array.from({ length: 50 }, (_, index) => `busy-${index}`);
    await Promise.all(names.map((name, index) => order(name, { offering: 'busy' }, tenant((index % 2) as 0 | 1))));
    const all = async (): Promise<Allocation[]> => Promise.all(names.map((name, index) => of(tenant((index % 2) as 0 | 1)).get(name)));
    const settled = async () => {
      const found = await all();
      expect(found.filter(({ status }) => status?.phase === 'Active')).toHaveLength(40);
      expect(found.filter(({ status }) => status?.phase === 'Pending' && status.message !== undefined)).toHaveLength(10);
      const entries = (await Promise.all([0, 1, 2, 3, 4].map((number) => entriesOn(`busy-${number}`)))).flat();
      expect(entries).toHaveLength(40);
      return { found, entries };
    };
    const { found, entries } = await vi.waitFor(settled, { timeout: 40_000, interval: 100 });
    const devices = found.flatMap(({ status }) => status?.parts?.flatMap((part) => part.devices) ?? []);
    expect(new Set(devices).size).toBe(40);
    expect(new Set(entries.flatMap((entry) => entry.devices))).toEqual(new Set(devices));
    const attempts = new Set(found.flatMap(({ status }) => status?.attempt ?? []));
    expect(new Set(entries.map(({ attempt }) => attempt))).toEqual(attempts);
  }, 60_000);
});

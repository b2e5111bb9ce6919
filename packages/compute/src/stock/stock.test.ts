import {
  type BookingEntry,
  type ComputeUsage,
  computeUsageKind,
  type FleetQuota,
  fleetQuotaKind,
  type GPUUnit,
  type NodeBooking,
  type NodeUnit,
  newObject,
  nodeBookingKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import { fleet as wholeFleet } from '@capstan/fleet';
import type { Product } from '@capstan/platform';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { computeProduct } from '../product.ts';
import { PretendFleet, TenantUnits } from '../units/testing/pretend-fleet.ts';
import { WarmingAgents } from './testing.ts';

/** The tests say whether nodes are ready. */
const fleetProduct: Product = { ...wholeFleet, controllers: [] };
const patiently = { timeout: 15_000, interval: 20 };

let cloud: Cloud;
let fleet: PretendFleet;
let tenant: TenantUnits;
let agents: WarmingAgents;
beforeAll(async () => {
  cloud = await startCloud({ products: [fleetProduct, computeProduct({ explainEvery: 30 })], tenants: 2 });
  fleet = new PretendFleet(cloud.platform);
  tenant = new TenantUnits(cloud.tenants[0]!.client);
  await eventually(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]));
  agents = new WarmingAgents(fleet);
}, 90_000);
afterAll(async () => {
  await agents[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

const eventually = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, patiently);
const setStock = (pool: string, stock: Offering['spec']['stock']) =>
  cloud.platform.resource<Offering>(offeringKind).patch(pool, { type: 'merge', patch: { spec: { stock: stock ?? null } } });
const bookings = () => cloud.platform.resource<NodeBooking>(nodeBookingKind);
const entriesOf = async (pool: string): Promise<BookingEntry[]> =>
  (await bookings().list()).items.filter(({ metadata }) => metadata.name?.startsWith(`${pool}-`)).flatMap(({ spec }) => spec.entries);
const warmIn = async (pool: string): Promise<BookingEntry[]> => (await entriesOf(pool)).filter(({ stock }) => stock?.offering === pool);
/** Until so many are booked and prepared, and no other NodeUnit of the stock is left. */
const isStocked = (pool: string, count: number): Promise<BookingEntry[]> =>
  eventually(async () => {
    const warm = await warmIn(pool);
    expect(warm).toHaveLength(count);
    const prepared = (await fleet.nodeUnits().list()).items.filter(
      ({ spec, metadata }) => spec.warm && metadata.namespace?.startsWith(`node-${pool}-`),
    );
    expect(prepared.map(({ spec, status }) => `${spec.allocation} ${status?.phase}`).toSorted()).toEqual(
      warm.map(({ allocation }) => `${allocation.uid} Warm`).toSorted(),
    );
    return warm;
  });
const started = (unit: GPUUnit): Promise<NodeUnit> =>
  eventually(async () => {
    const [found] = await fleet.of(unit);
    expect(found).toBeDefined();
    return found!;
  });
const isBookedOnce = async (pool: string): Promise<void> => {
  const devices = (await entriesOf(pool)).flatMap((entry) => entry.devices);
  expect(new Set(devices).size).toBe(devices.length);
};

describe('stock', () => {
  test('is booked and prepared, taken by the next unit with its devices, and refilled', async () => {
    await fleet.makePool('kept', { gpus: 8 });
    await setStock('kept', { units: 2 });
    const before = await isStocked('kept', 2);
    const unit = await tenant.create('first', { offering: 'kept' });
    const { spec } = await started(unit);
    const taken = before.find(({ devices }) => devices[0] === spec.devices[0]);
    const [allocation] = await tenant.allocationsOf(unit);
    expect(allocation!.status).toMatchObject({ phase: 'Active', attempt: taken!.attempt });
    expect(spec).toMatchObject({ allocation: allocation!.metadata.uid, owner: { name: 'first' } });
    expect(spec.warm).toBeUndefined();
    const after = await isStocked('kept', 2);
    expect(after.filter(({ attempt }) => before.some((one) => one.attempt === attempt))).toHaveLength(1);
    await isBookedOnce('kept');
  });

  test('is only for units that fit: other images, networks and gangs take their turn in the queue', async () => {
    await fleet.makePool('picky', { nodes: 2, gpus: 4 });
    await setStock('picky', { units: 1, image: 'registry.test/a:1' });
    const [warm] = await isStocked('picky', 1);
    const units = [
      await tenant.create('no-image', { offering: 'picky' }),
      await tenant.create('no-network', { offering: 'picky', image: 'registry.test/a:1', network: 'None' }),
      await tenant.create('gang', { offering: 'picky', image: 'registry.test/a:1', nodes: 2 }),
    ];
    for (const unit of units) expect((await started(unit)).spec.devices).not.toEqual(warm!.devices);
    const fitting = await tenant.create('fitting', { offering: 'picky', image: 'registry.test/a:1' });
    expect((await started(fitting)).spec.devices).toEqual(warm!.devices);
  });

  test('shrinks, and follows a change of the offering', async () => {
    await fleet.makePool('smaller', { gpus: 8 });
    await setStock('smaller', { units: 3 });
    const before = await isStocked('smaller', 3);
    await setStock('smaller', { units: 1 });
    const [kept] = await isStocked('smaller', 1);
    expect(before.map(({ attempt }) => attempt)).toContain(kept!.attempt);
    await cloud.platform
      .resource<Offering>(offeringKind)
      .patch('smaller', { type: 'merge', patch: { spec: { gpu: { model: 'H100', count: 2 } } } });
    await eventually(async () => expect((await warmIn('smaller')).map(({ devices }) => devices.length)).toEqual([2]));
    await setStock('smaller', undefined);
    await isStocked('smaller', 0);
  });

  test('is given up for an order that waits, and is not refilled while one waits', async () => {
    await fleet.makePool('scarce', { gpus: 3 });
    await setStock('scarce', { units: 3 });
    await isStocked('scarce', 3);
    const offering = newObject(offeringKind, {
      metadata: { name: 'scarce-pair' },
      spec: { gpu: { model: 'H100', count: 2 }, cpu: '1', memory: '1Gi', pools: ['scarce'] },
    }) as Offering;
    await cloud.platform.resource<Offering>(offeringKind).create(offering);
    const pair = await tenant.create('pair', { offering: 'scarce-pair' });
    expect((await started(pair)).spec.devices).toHaveLength(2);
    expect(await isStocked('scarce', 1)).toHaveLength(1);
    const waiting = await tenant.create('waiting', { offering: 'scarce-pair' });
    await eventually(async () => expect((await tenant.allocationsOf(waiting))[0]?.status?.phase).toBe('Pending'));
    const one = await tenant.create('one', { offering: 'scarce' });
    await eventually(async () => expect((await tenant.units().get('one')).status?.phase).toBeDefined());
    await started(one);
    await isStocked('scarce', 0);
    await isBookedOnce('scarce');
    for (const name of ['pair', 'waiting', 'one']) await tenant.units().delete(name);
  });

  test('that cannot be prepared stays as it is, and is not given to anybody', async () => {
    await fleet.makePool('failing', { gpus: 4 });
    await setStock('failing', { units: 1 });
    const [warm] = await isStocked('failing', 1);
    const broken = (await fleet.nodeUnits('failing-0').list()).items[0]!;
    await fleet.report(broken, { phase: 'Ended', reason: 'DriverUnavailable', message: 'no container runtime' });
    await setStock('failing', { units: 2 });
    await eventually(async () => expect((await fleet.nodeUnits('failing-0').list()).items).toHaveLength(2));
    const uids = (await fleet.nodeUnits('failing-0').list()).items.map(({ metadata }) => metadata.uid);
    expect(uids).toContain(broken.metadata.uid);
    const unit = await tenant.create('healthy', { offering: 'failing' });
    expect((await started(unit)).spec.devices).not.toEqual(warm!.devices);
  });

  test('on a node that is lost moves to another one', async () => {
    await fleet.makePool('moving', { nodes: 2, gpus: 2 });
    await setStock('moving', { units: 2 });
    const [warm] = await isStocked('moving', 2);
    const node = warm!.devices[0]!.replace(/-gpu-\d+$/, '');
    await fleet.nodes().patch(node, { type: 'merge', patch: { spec: { lost: true } } });
    await eventually(async () => {
      for (const { devices } of await warmIn('moving')) expect(devices[0]).not.toContain(`${node}-gpu`);
      expect(await warmIn('moving')).toHaveLength(2);
    });
    await isStocked('moving', 2);
  });

  test('respects the limits of a workspace', async () => {
    await fleet.makePool('limited', { gpus: 8 });
    await setStock('limited', { units: 2 });
    await isStocked('limited', 2);
    const other = new TenantUnits(cloud.tenants[1]!.client);
    const quota = newObject(fleetQuotaKind, {
      metadata: { name: 'one-gpu' },
      spec: { workspace: cloud.tenants[1]!.path, limits: { gpus: 1 } },
    } as never) as FleetQuota;
    await cloud.platform.resource<FleetQuota>(fleetQuotaKind).create(quota);
    // The scheduler tells a workspace its limits once it has an allocation, here one that fits nowhere.
    const probe = await other.create('probe', { offering: 'limited', nodes: 3 });
    const usage = other.client.resource<ComputeUsage>(computeUsageKind);
    await eventually(async () => expect((await usage.get('current')).status?.limits).toMatchObject([{ resource: 'gpus', limit: 1 }]));
    await other.units().delete('probe');
    await eventually(async () => expect(await other.allocationsOf(probe)).toEqual([]));
    const units = await Promise.all(['a', 'b', 'c'].map((name) => other.create(name, { offering: 'limited' })));
    await eventually(async () => {
      const phases = await Promise.all(units.map(async (unit) => (await other.allocationsOf(unit))[0]?.status?.phase ?? ''));
      expect(phases.toSorted()).toEqual(['Active', 'Pending', 'Pending']);
    });
    await cloud.platform.resource<FleetQuota>(fleetQuotaKind).delete('one-gpu');
    for (const unit of units) await started(unit);
  });

  test('goes to at most one of a hundred units that start at once', async () => {
    await fleet.makePool('rush', { nodes: 2, gpus: 8 });
    await setStock('rush', { units: 10 });
    const warm = await isStocked('rush', 10);
    const units = await Promise.all(Array.from({ length: 100 }, (_, number) => tenant.create(`rush-${number}`, { offering: 'rush' })));
    const running = await eventually(async () => {
      const own = new Set(units.map(({ metadata }) => metadata.uid));
      const found = (await fleet.nodeUnits().list()).items.filter(({ spec }) => own.has(spec.owner.uid));
      expect(found).toHaveLength(16);
      return found;
    });
    const devices = running.flatMap(({ spec }) => spec.devices);
    expect(new Set(devices).size).toBe(16);
    for (const entry of warm) expect(devices).toContain(entry.devices[0]);
    await isStocked('rush', 0);
    await isBookedOnce('rush');
    const entries = await entriesOf('rush');
    const { items } = await tenant.allocations().list();
    for (const { allocation, attempt } of entries)
      expect(items.find(({ metadata }) => metadata.uid === (allocation.uid as string))?.status).toMatchObject({ phase: 'Active', attempt });
    await Promise.all(units.map(({ metadata }) => tenant.units().delete(metadata.name!)));
  }, 60_000);
});

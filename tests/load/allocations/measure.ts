import {
  type Allocation,
  allocationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  newObject,
  nodeBookingKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { computeProduct } from '@capstan/compute';
import { ignoring } from '@capstan/controller';
import { fleet } from '@capstan/fleet';
import { makeNodeNamespace, pretendAgents } from '@capstan/fleet/testing';
import type { JsonObject } from '@capstan/machinery';
import { type Cloud, startCloud, type Tenant } from '@capstan/platform/testing';
import { shared } from '../client/shared.ts';
import { Latencies } from '../measure/latencies.ts';
import type { Measurement } from '../profiles/profile.ts';

const gpusPerNode = 8;
const offering = 'load';
/** Orders before the measurement. */
const warmUp = 300;

export interface AllocationAmounts {
  readonly nodes?: number | undefined;
  readonly count?: number | undefined;
  readonly clients?: number | undefined;
}

/**
 * Orders of single GPUs through the API, from the request to the status that names the device, with nodes that nobody runs. The server, its
 * controllers, the scheduler and the clients share one process, so this is a lower limit.
 */
export async function measureAllocations({ nodes = 100, count = 500, clients = 16 }: AllocationAmounts): Promise<Measurement[]> {
  // Nobody renews Leases for these nodes, and pretended agents clean them.
  const cleaning = fleet.controllers.filter(({ name }) => name === 'cleaning');
  await using cloud = await startCloud({ products: [{ ...fleet, controllers: cleaning }, computeProduct()], tenants: 1 });
  await makeFleet(cloud, nodes);
  await using _agents = pretendAgents(cloud.platform);
  // A server that has just started compiles its code.
  await measureRound(cloud, { prefix: 'warm-up', count: Math.min(count, warmUp), clients });
  const what = `${nodes} nodes, ${count} allocations`;
  const { granting, releasing, latencies, cpu, doubleBookings } = await measureRound(cloud, { prefix: 'load', count, clients });
  return [
    { what: `${what}: granted`, value: count / granting, unit: 'per second', better: 'higher' },
    { what: `${what}: p50 from the order to the grant`, value: latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `${what}: p99 from the order to the grant`, value: latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `${what}: processor time for a grant, of all parts together`, value: cpu / count, unit: 'ms', better: 'lower' },
    { what: `${what}: released`, value: count / releasing, unit: 'per second', better: 'higher' },
    { what: `${what}: devices that were booked twice`, value: doubleBookings, unit: 'count', better: 'lower' },
  ];
}

interface Round {
  readonly granting: number;
  readonly releasing: number;
  readonly latencies: Latencies;
  /** In milliseconds. */
  readonly cpu: number;
  readonly doubleBookings: number;
}

/** Orders, waits for all grants, releases everything and waits until the nodes are clean. */
async function measureRound(
  cloud: Cloud,
  { prefix, count, clients }: { readonly prefix: string; readonly count: number; readonly clients: number },
): Promise<Round> {
  const [tenant] = cloud.tenants as [Tenant];
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const latencies = new Latencies(count);
  const began = new Map<string, number>();
  const active = await following(tenant, count, ({ type, object }) => {
    const name = object.metadata.name ?? '';
    if (type === 'DELETED' || object.status?.phase !== 'Active') return undefined;
    if (began.has(name)) latencies.add(performance.now() - began.get(name)!);
    began.delete(name);
    return name;
  });
  const before = process.cpuUsage();
  const granting = await seconds(async () => {
    await shared(names, clients, async (name) => {
      began.set(name, performance.now());
      await of(tenant).create(newObject(allocationKind, { metadata: { name, namespace: 'default' }, spec: { offering } }) as Allocation);
    });
    await active.all;
  });
  const { user, system } = process.cpuUsage(before);
  const doubleBookings = await countDoubleBookings(cloud);
  const gone = await following(tenant, count, ({ type, object }) => (type === 'DELETED' ? object.metadata.name : undefined));
  const releasing = await seconds(async () => {
    await shared(names, clients, async (name) => void (await of(tenant).delete(name)));
    await gone.all;
  });
  const bookings = cloud.platform.resource<NodeBooking>(nodeBookingKind);
  while ((await bookings.list()).items.some(({ spec }) => spec.entries.length > 0)) await new Promise((resolve) => setTimeout(resolve, 50));
  return { granting, releasing, latencies, cpu: (user + system) / 1000, doubleBookings };
}

const of = ({ client }: Tenant) => client.resource<Allocation>(allocationKind).in('default');

async function makeFleet({ platform }: Cloud, count: number): Promise<void> {
  const resource = platform.resource<GPUNode>(gpuNodeKind);
  while ((await ignoring(resource.list(), isNotFound)) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
  const at = '2026-01-01T00:00:00Z';
  const health = { state: 'Healthy', reason: 'Healthy', message: '', since: at };
  const names = Array.from({ length: count }, (_, index) => `load-${index}`);
  await shared(names, 16, async (name) => {
    await resource.create(newObject(gpuNodeKind, { metadata: { name }, spec: {} }));
    await makeNodeNamespace(platform, name);
    const status = {
      machine: { hostname: name, cpus: 64, memoryBytes: 2 ** 40, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
      gpus: Array.from({ length: gpusPerNode }, (_, index) => ({
        uuid: `${name}-${index}`,
        model: 'H100',
        memoryBytes: 80 * 2 ** 30,
        health,
      })),
      conditions: [{ type: 'Ready', status: 'True', reason: 'Simulated', message: '', lastTransitionTime: at }],
    };
    await resource.patch(name, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
  });
  const spec = { gpu: { model: 'H100', count: 1 } };
  await platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: offering }, spec }) as Offering);
}

/** Watches allocations until `pick` has named `count` of them. */
async function following(
  tenant: Tenant,
  count: number,
  pick: (event: { readonly type: string; readonly object: Allocation }) => string | undefined,
): Promise<{ readonly all: Promise<void> }> {
  const { metadata } = await of(tenant).list();
  const stop = new AbortController();
  const found = new Set<string>();
  const ended = of(tenant).follow({ resourceVersion: metadata.resourceVersion, signal: stop.signal }, (event) => {
    if (event.type === 'BOOKMARK') return;
    const name = pick(event);
    if (name !== undefined) found.add(name);
    if (found.size === count) stop.abort();
  });
  const all = ended.catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return { all };
}

async function countDoubleBookings({ platform }: Cloud): Promise<number> {
  const { items } = await platform.resource<NodeBooking>(nodeBookingKind).list();
  const devices = items.flatMap(({ spec }) => spec.entries.flatMap((entry) => entry.devices));
  return devices.length - new Set(devices).size;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await work();
  return (performance.now() - before) / 1000;
}

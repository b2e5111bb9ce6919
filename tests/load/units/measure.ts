import {
  type Allocation,
  allocationKind,
  type GPUUnit,
  gpuUnitKind,
  type NodeBooking,
  newObject,
  nodeBookingKind,
  nodeUnitKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import type { Client } from '@capstan/client';
import { ControlPlane } from '../agents/control-plane.ts';
import { type Agents, startAgents } from '../agents/many.ts';
import { shared } from '../client/shared.ts';
import { Latencies } from '../measure/latencies.ts';
import { processorSeconds } from '../measure/processor.ts';
import type { Measurement } from '../profiles/profile.ts';
import { makeProject, until } from '../stock/project.ts';
import { difference, requestsServed } from './requests.ts';

export interface UnitAmounts {
  readonly nodes?: number | undefined;
  readonly count?: number | undefined;
  readonly clients?: number | undefined;
}

const offering = 'load';
/** Kinds of requests that are rarer than this for each unit are only in the sum. */
const leastShare = 0.1;
/** Units before the measurement: a server that has just started compiles its code. */
const warmUp = 100;
const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };

/** Units with one GPU each on agents that pretend to run programs: created, stopped and deleted, and whether anything is left of them. */
export async function measureUnits({ nodes = 125, count = 1_000, clients = 16 }: UnitAmounts): Promise<Measurement[]> {
  await using plane = await ControlPlane.start();
  using agents = await startAgents(plane, { count: nodes, pretendsPrograms: true });
  const spec = { gpu: { count: 1 }, memory: '64Mi' };
  await plane.platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: offering }, spec }) as Offering);
  const tenant = await makeProject(plane);
  const all = { plane, agents, tenant, clients };
  await live(all, 'warm-up', Math.min(count, warmUp));
  const { starting, stopping, deleting, latencies, left, doubleBookings } = await live(all, 'load', count);
  const what = `${count} units on ${nodes} nodes`;
  const rows = (name: string, { seconds, used, requests }: Work): Measurement[] => [
    { what: `${what}: ${name}`, value: count / seconds, unit: 'per second', better: 'higher' },
    ...(['server', 'controllers', 'agents'] as const).map(
      (process): Measurement => ({
        what: `${what}: ${name}, processor time of the ${process} for each`,
        value: (used[process] * 1_000) / count,
        unit: 'ms',
        better: 'lower',
      }),
    ),
    ...[['all', sumOf(requests)] as const, ...requests]
      .filter(([, served]) => served / count >= leastShare)
      .map(
        ([kind, served]): Measurement => ({
          what: `${what}: ${name}, requests for each, ${kind}`,
          value: served / count,
          unit: 'count',
          better: 'lower',
        }),
      ),
  ];
  return [
    ...rows('started', starting),
    { what: `${what}: p50 from the order to Running`, value: latencies.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `${what}: p99 from the order to Running`, value: latencies.quantile(0.99), unit: 'ms', better: 'lower' },
    ...rows('stopped', stopping),
    ...rows('deleted', deleting),
    { what: `${what}: devices that were booked twice`, value: doubleBookings, unit: 'count', better: 'lower' },
    { what: `${what}: allocations, bookings, NodeUnits and Pods that were left`, value: left, unit: 'count', better: 'lower' },
  ];
}

const sumOf = (requests: ReadonlyMap<string, number>): number => requests.values().reduce((sum, served) => sum + served, 0);

interface World {
  readonly plane: ControlPlane;
  readonly agents: Agents;
  readonly tenant: Client;
  readonly clients: number;
}

/** A part of the lives of all units. Processor time is in seconds. */
interface Work {
  readonly seconds: number;
  readonly used: Readonly<Record<'server' | 'controllers' | 'agents', number>>;
  /** By verb and kind. */
  readonly requests: ReadonlyMap<string, number>;
}

interface Lives {
  readonly starting: Work;
  readonly stopping: Work;
  readonly deleting: Work;
  readonly latencies: Latencies;
  readonly left: number;
  readonly doubleBookings: number;
}

/** Creates units, and waits until all run; stops them, and waits until nothing of them is booked; deletes them. */
async function live(world: World, prefix: string, count: number): Promise<Lives> {
  const { plane, tenant, clients } = world;
  const units = tenant.resource<GPUUnit>(gpuUnitKind).in('default');
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const latencies = new Latencies(count);
  const ordered = new Map<string, number>();
  const running = await following(tenant, count, ({ type, object }) => {
    const { name = '' } = object.metadata;
    if (type === 'DELETED' || object.status?.phase !== 'Running') return undefined;
    if (ordered.has(name)) latencies.add(performance.now() - ordered.get(name)!);
    ordered.delete(name);
    return name;
  });
  const starting = await working(world, async () => {
    await shared(names, clients, async (name) => {
      ordered.set(name, performance.now());
      const spec = { offering, command: ['sleep', 'infinity'] };
      await units.create(newObject(gpuUnitKind, { metadata: { name, namespace: 'default' }, spec }) as GPUUnit);
    });
    await running.all;
  });
  const doubleBookings = await countDoubleBookings(plane.platform);
  const stopped = await following(tenant, count, ({ object }) => (object.status?.phase === 'Stopped' ? object.metadata.name : undefined));
  const stopping = await working(world, async () => {
    await shared(names, clients, async (name) => void (await units.patch(name, { type: 'merge', patch: { spec: { running: false } } })));
    await stopped.all;
    await until('all allocations are released', async () => (await allocationsAndBookings(world)) === 0, 200);
  });
  const gone = await following(tenant, count, ({ type, object }) => (type === 'DELETED' ? object.metadata.name : undefined));
  const deleting = await working(world, async () => {
    await shared(names, clients, async (name) => void (await units.delete(name)));
    await gone.all;
  });
  return { starting, stopping, deleting, latencies, doubleBookings, left: await leftOf(world) };
}

async function working({ plane, agents }: World, work: () => Promise<void>): Promise<Work> {
  const now = async () => ({
    at: performance.now(),
    server: processorSeconds([plane.server]),
    controllers: processorSeconds([plane.controllers]),
    agents: processorSeconds([agents.pid]),
    requests: await requestsServed(plane.platform),
  });
  const before = await now();
  await work();
  const after = await now();
  const used = {
    server: after.server - before.server,
    controllers: after.controllers - before.controllers,
    agents: after.agents - before.agents,
  };
  return { seconds: (after.at - before.at) / 1_000, used, requests: difference(before.requests, after.requests) };
}

/** Watches units until `pick` has named `count` of them. */
async function following(
  tenant: Client,
  count: number,
  pick: (event: { readonly type: string; readonly object: GPUUnit }) => string | undefined,
): Promise<{ readonly all: Promise<void> }> {
  const units = tenant.resource<GPUUnit>(gpuUnitKind).in('default');
  const { metadata } = await units.list();
  const stop = new AbortController();
  const found = new Set<string>();
  // Bookmarks show that the server is there while nothing changes.
  const options = { resourceVersion: metadata.resourceVersion, allowWatchBookmarks: true, signal: stop.signal };
  const ended = units.follow(options, (event) => {
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

async function countDoubleBookings(platform: Client): Promise<number> {
  const { items } = await platform.resource<NodeBooking>(nodeBookingKind).list();
  const devices = items.flatMap(({ spec }) => spec.entries.flatMap((entry) => entry.devices));
  return devices.length - new Set(devices).size;
}

async function allocationsAndBookings({ plane, tenant }: World): Promise<number> {
  const allocations = await tenant.resource<Allocation>(allocationKind).list();
  const bookings = await plane.platform.resource<NodeBooking>(nodeBookingKind).list();
  return allocations.items.length + bookings.items.reduce((sum, { spec }) => sum + spec.entries.length, 0);
}

async function leftOf(world: World): Promise<number> {
  const nodeUnits = await world.plane.platform.resource(nodeUnitKind).list();
  const shown = await world.tenant.resource(pods).list();
  return (await allocationsAndBookings(world)) + nodeUnits.items.length + shown.items.length;
}

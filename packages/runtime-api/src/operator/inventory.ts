import { type GPUNode, gpuNodeKind, type KindReference, type NodeBooking, nodeBookingKind } from '@capstan/api';
import type { List } from '@capstan/client';
import { fleetNodeOf } from '@capstan/compute';
import type { KubeObject } from '@capstan/machinery';
import { atPlatform } from '../resources/place.ts';
import type { Call, Reply } from '../routes/call.ts';

/** GPUs of one model, or instances of one MIG profile of it. Each is booked, free or out of service. */
export interface ModelCount {
  readonly model: string;
  readonly migProfile?: string;
  readonly total: number;
  readonly booked: number;
  readonly free: number;
  /** Not booked, and no order gets it: the GPU is broken or missing, or its node is silent, cordoned or being removed. */
  readonly outOfService: number;
}

export interface Inventory {
  readonly models: readonly ModelCount[];
  readonly pools: readonly {
    readonly pool: string;
    readonly nodes: number;
    readonly readyNodes: number;
    readonly models: readonly ModelCount[];
  }[];
}

type State = 'booked' | 'free' | 'outOfService';

interface Seen {
  readonly pool: string;
  readonly model: string;
  readonly migProfile: string | undefined;
  readonly state: State;
}

/** `GET /operator/inventory`. */
export async function readInventory(call: Call): Promise<Reply> {
  const workspace = atPlatform(call);
  const [nodes, bookings] = await Promise.all([
    readAll<GPUNode>(call, gpuNodeKind, workspace),
    readAll<NodeBooking>(call, nodeBookingKind, workspace),
  ]);
  return { status: 200, body: inventoryOf(nodes, bookings) };
}

export function inventoryOf(nodes: readonly GPUNode[], bookings: readonly NodeBooking[]): Inventory {
  const entries = new Map(bookings.map(({ metadata, spec }) => [metadata.name ?? '', spec.entries]));
  const fleet = nodes.map(fleetNodeOf);
  const seen = fleet.flatMap((node): Seen[] => {
    const own = entries.get(node.name) ?? [];
    const booked = new Set(own.flatMap(({ devices }) => devices));
    const isTaken = own.some(({ exclusive }) => exclusive === true);
    const isOpen = node.ready === 'True' && !node.cordoned;
    return node.gpus.map(({ uuid, model, migProfile, health }) => {
      const isUsable = isOpen && (health === 'Healthy' || health === 'Degraded');
      const state: State = isTaken || booked.has(uuid) ? 'booked' : isUsable ? 'free' : 'outOfService';
      return { pool: node.pool, model, migProfile, state };
    });
  });
  const pools = [...Map.groupBy(fleet, ({ pool }) => pool)].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    models: countsOf(seen),
    pools: pools.map(([pool, members]) => ({
      pool,
      nodes: members.length,
      readyNodes: members.filter(({ ready }) => ready === 'True').length,
      models: countsOf(seen.filter((one) => one.pool === pool)),
    })),
  };
}

function countsOf(seen: readonly Seen[]): ModelCount[] {
  const groups = Map.groupBy(seen, ({ model, migProfile = '' }) => `${model} ${migProfile}`);
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, all]) => {
      const { model, migProfile } = all[0]!;
      const count = (wanted: State): number => all.filter(({ state }) => state === wanted).length;
      return {
        model,
        ...(migProfile !== undefined && { migProfile }),
        total: all.length,
        booked: count('booked'),
        free: count('free'),
        outOfService: count('outOfService'),
      };
    });
}

async function readAll<T extends KubeObject>(
  { upstream, authorization }: Call,
  { group, version, resource }: KindReference,
  workspace: string,
): Promise<T[]> {
  const all: T[] = [];
  for (let token = ''; ; ) {
    const next = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const path = `/clusters/${workspace}/apis/${group}/${version}/${resource}?limit=500${next}`;
    const page = await upstream.json<List<T>>({ method: 'GET', path, authorization });
    all.push(...page.items);
    token = page.metadata.continue ?? '';
    if (token === '') return all;
  }
}

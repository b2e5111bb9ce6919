import {
  type BookingEntry,
  type NodeBooking,
  type NodeUnit,
  nodeBookingKind,
  nodeUnitKind,
  type Offering,
  offeringKind,
  platformWorkspace,
} from '@capstan/api';
import { type Column, printList, printOne } from '../output.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import type { OutputFlags } from './offering.ts';

export interface StockFlags extends OutputFlags {
  readonly units: number;
  readonly image?: string;
}

/** A warm unit, as the booking of its node and the agent describe it. */
interface WarmUnit {
  readonly offering: string;
  readonly node: string;
  readonly phase: 'Preparing' | 'Ready';
  readonly devices: readonly string[];
  readonly image?: string;
  readonly message?: string;
}

const offeringTable: readonly Column<Offering>[] = [
  { name: 'OFFERING', value: ({ metadata }) => metadata.name },
  { name: 'STOCK', value: ({ spec }) => spec.stock?.units ?? 0 },
  { name: 'IMAGE', value: ({ spec }) => spec.stock?.image },
];

const table: readonly Column<WarmUnit>[] = [
  { name: 'OFFERING', value: ({ offering }) => offering },
  { name: 'NODE', value: ({ node }) => node },
  { name: 'GPUS', value: ({ devices }) => devices.length },
  { name: 'PHASE', value: ({ phase }) => phase },
  { name: 'IMAGE', value: ({ image }) => image },
  { name: 'MESSAGE', value: ({ message }) => message },
  { name: 'DEVICES', value: ({ devices }) => devices.join(','), isWide: true },
];

/** Sets how many warm units of an offering are kept; 0 keeps none. */
export async function setStock(name: string, { units, image, output, ...flags }: StockFlags): Promise<void> {
  using client = workspaceClient(flags);
  const offerings = client.cluster(platformWorkspace).resource<Offering>(offeringKind);
  const stock = units === 0 ? null : { units, image: image ?? null };
  printOne(await offerings.patch(name, { type: 'merge', patch: { spec: { stock } } }), { output, table: offeringTable });
}

export async function listStock({ output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const platform = client.cluster(platformWorkspace);
  const [bookings, nodeUnits] = await Promise.all([
    platform.resource<NodeBooking>(nodeBookingKind).list(),
    platform.resource<NodeUnit>(nodeUnitKind).list(),
  ]);
  const empty = 'No warm units. The owner of the platform keeps some with "capstan offering stock <name> --units <number>".';
  printList(warmUnits(bookings.items, nodeUnits.items), { output, table, empty });
}

export function warmUnits(bookings: readonly NodeBooking[], nodeUnits: readonly NodeUnit[]): WarmUnit[] {
  const prepared = new Map(nodeUnits.map((one) => [one.spec.allocation, one.status]));
  return bookings
    .flatMap(({ metadata: { name: node = '' }, spec }) => spec.entries.map((entry) => ({ node, entry })))
    .flatMap(({ node, entry }) => warmUnit(node, entry, prepared.get(entry.allocation.uid)))
    .toSorted((one, other) => compare(one.offering, other.offering) || compare(one.node, other.node));
}

function warmUnit(node: string, { stock, devices }: BookingEntry, status: NodeUnit['status']): WarmUnit[] {
  if (stock === undefined) return [];
  const { offering, image } = stock;
  const message = status?.message ?? status?.step;
  const phase = status?.phase === 'Warm' ? 'Ready' : 'Preparing';
  return [{ offering, node, phase, devices, ...(image !== undefined && { image }), ...(message !== undefined && { message }) }];
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

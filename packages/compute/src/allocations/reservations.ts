import type { NodeReservation, ReservedPart } from '@capstan/api';
import { type FleetNode, isWithin, type PlacedPart, type Reservation } from '@capstan/fleet';

export interface ReservationContext {
  readonly nodeOf: (name: string) => FleetNode | undefined;
  /** The path of a tenant's workspace; undefined if it is not known. */
  readonly pathOf: (tenant: string) => string | undefined;
}

/** The reservations that have begun. Nodes that do not exist are left out. */
export function reservationsNow(stored: Iterable<NodeReservation>, { nodeOf, pathOf }: ReservationContext, now: number): Reservation[] {
  return [...stored].flatMap(({ metadata, spec }): Reservation[] => {
    const { workspace, from, until, nodes } = spec;
    if (from !== undefined && Date.parse(from) > now) return [];
    return [
      {
        id: metadata.uid ?? metadata.name ?? '',
        until: Date.parse(until),
        isFor: (tenant) => isWithin(pathOf(tenant) ?? tenant, workspace),
        parts: nodes.flatMap((part) => partOf(part, nodeOf(part.node))),
      },
    ];
  });
}

/** In milliseconds: until a reservation begins or ends; undefined if none does. */
export function untilNextChange(stored: Iterable<NodeReservation>, now: number): number | undefined {
  const times = [...stored].flatMap(({ spec: { from, until } }) => [from ?? until, until]).map((time) => Date.parse(time) - now);
  const next = Math.min(...times.filter((left) => left > 0));
  return Number.isFinite(next) ? next : undefined;
}

function partOf({ node: name, gpus, devices: wanted }: ReservedPart, node: FleetNode | undefined): PlacedPart[] {
  if (node === undefined) return [];
  const all = node.gpus.map(({ uuid }) => uuid);
  const devices = wanted === undefined ? all.slice(0, gpus) : all.filter((uuid) => wanted.includes(uuid));
  const isWhole = wanted === undefined && gpus === undefined;
  const share = isWhole ? 1 : devices.length / Math.max(1, all.length);
  return [{ node: name, devices, cpu: Math.floor(node.cpu * share), memory: Math.floor(node.memory * share) }];
}

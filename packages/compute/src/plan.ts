import type { AllocationSpec, FleetQuota, GPUNode, NodeBooking, NodeReservation, NodeVolume, OfferingSpec } from '@capstan/api';
import {
  attemptsIn,
  FleetIndex,
  isAlive,
  layReservation,
  type Placement,
  QuotaLedger,
  type QuotaRefusal,
  type QuotaUse,
  requestFor,
  type Shortage,
  withOwnReservations,
} from '@capstan/fleet';
import { fleetNodeOf } from './allocations/fleet-node.ts';
import { askedAmount, placedAmount } from './allocations/quota.ts';
import { reservationsNow } from './allocations/reservations.ts';
import { countedVolume } from './storages/quota.ts';

/** Everything that an owner can read of the fleet. */
export interface FleetState {
  readonly nodes: readonly GPUNode[];
  readonly bookings: readonly NodeBooking[];
  readonly quotas: readonly FleetQuota[];
  readonly reservations: readonly NodeReservation[];
  readonly volumes: readonly NodeVolume[];
}

export interface PlanInput {
  readonly fleet: FleetState;
  readonly offering: OfferingSpec;
  readonly order: Pick<AllocationSpec, 'nodes' | 'topology' | 'node' | 'directories'>;
  /** The path of the workspace that would order. */
  readonly workspace: string;
  readonly now: number;
}

/** A limit, with what an order would use of it. */
export interface PlannedUse extends QuotaUse {
  readonly after: number;
}

export type Plan =
  | (Placement & { readonly uses: readonly PlannedUse[] })
  | Shortage
  | { readonly kind: 'limited'; readonly message: string; readonly refusals: readonly QuotaRefusal[] };

/** Where an order would go now, and what it would use there, or why it would wait. It ignores those who wait already. */
export function planAllocation({ fleet, offering, order, workspace, now }: PlanInput): Plan {
  const request = requestFor(offering, order);
  const ledger = quotaLedger(fleet);
  const nodes = new Map(fleet.nodes.map((node) => [node.metadata.name ?? '', fleetNodeOf(node)]));
  const nodeOf = (name: string) => nodes.get(name);
  const refused = ledger.check(workspace, askedAmount(request));
  if (refused.length > 0) return limited(refused);
  const index = new FleetIndex();
  for (const node of nodes.values()) index.setNode(node);
  for (const { metadata, spec } of fleet.bookings)
    index.setBookings(metadata.name ?? '', new Map(spec.entries.map((entry) => [`${entry.allocation.uid}/${entry.attempt}`, entry])));
  const reservations = reservationsNow(fleet.reservations, { nodeOf, pathOf: (path) => path }, now).filter(({ until }) => until > now);
  for (const one of reservations) layReservation(index, one);
  const own = reservations.filter((one) => one.isFor(workspace));
  let exceeded: readonly QuotaRefusal[] = [];
  const isAllowed = ({ parts }: Placement): boolean => (exceeded = ledger.check(workspace, placedAmount(parts, nodeOf))).length === 0;
  const answer = withOwnReservations(
    index,
    own,
    () => index.find(request, isAllowed) ?? (exceeded.length > 0 ? limited(exceeded) : index.place(request)),
  );
  if (answer.kind !== 'placed') return answer;
  const before = ledger.uses(workspace);
  ledger.setUse('planned', workspace, placedAmount(answer.parts, nodeOf));
  const after = ledger.uses(workspace);
  return { ...answer, uses: before.map((use, at) => ({ ...use, after: after[at]!.used })) };
}

/** All limits, and what is used of them by allocations that have devices, and by storages. */
export function quotaLedger({ nodes, bookings, quotas, volumes }: Omit<FleetState, 'reservations'>): QuotaLedger {
  const ledger = new QuotaLedger(quotas.map(({ spec }) => spec));
  const known = new Map(nodes.map((node) => [node.metadata.name ?? '', fleetNodeOf(node)]));
  const attempts = attemptsIn(bookings.map(({ metadata, spec }) => [metadata.name ?? '', spec] as const)).filter(isAlive);
  for (const { allocation, parts } of attempts) {
    const amount = placedAmount(parts, (name) => known.get(name));
    ledger.setUse(allocation.uid, allocation.path ?? allocation.cluster, amount);
  }
  for (const volume of volumes) {
    const { id, path, amount } = countedVolume(volume);
    ledger.setUse(id, path, amount);
  }
  return ledger;
}

function limited(refusals: readonly QuotaRefusal[]): Plan {
  return { kind: 'limited', message: refusals[0]!.message, refusals };
}

import type { Allocation } from '@capstan/api';
import { type Attempt, addUsage, noUsage, type PlacementRequest, requestFor, type Usage, type Waiting } from '@capstan/fleet';
import type { FleetCopy } from './fleet-copy.ts';
import { askedAmount, type PassQuota, placedAmount } from './quota.ts';
import type { WaitingReason } from './status.ts';
import { type Known, tenantOf } from './tenants.ts';

/** Why an allocation is not in the queue. */
export interface Refusal {
  readonly known: Known;
  readonly reason: WaitingReason;
  readonly message: string;
}

export interface Queued {
  readonly known: Known;
  readonly waiting: Waiting;
}

export interface WaitingList {
  readonly queued: readonly Queued[];
  readonly refused: readonly Refusal[];
}

export interface CountingOptions {
  readonly fleet: FleetCopy;
  readonly quota: PassQuota;
  /** The path of a workspace by its id; undefined if it is not known. */
  readonly pathOf: (cluster: string) => string | undefined;
}

const unknownWorkspace =
  'the platform cannot tell which limits hold here; accept the claim on logicalclusters.core.kcp.io of the binding compute.capstan.dev';

/** Turns allocations without devices into requests, the oldest first, as far as their offerings exist and their limits allow it. */
export function waitingList(candidates: readonly Known[], { fleet, quota, pathOf }: CountingOptions): WaitingList {
  const queued: Queued[] = [];
  const refused: Refusal[] = [];
  const requests = new Map<string, PlacementRequest>();
  for (const { known, since } of byAge(candidates)) {
    const { spec } = known.allocation;
    const key = JSON.stringify([spec.offering, spec.resources, spec.nodes, spec.topology, spec.node, spec.directories]);
    const request = requests.get(key) ?? requestOf(spec, fleet);
    if (request === undefined) {
      refused.push({ known, reason: 'OfferingNotFound', message: `there is no offering ${spec.offering}` });
      continue;
    }
    requests.set(key, request);
    const path = pathOf(tenantOf(known));
    if (path === undefined && !quota.isEmpty) {
      refused.push({ known, reason: 'WorkspaceUnknown', message: unknownWorkspace });
      continue;
    }
    const message = quota.admit(known.uid, path ?? '', askedAmount(request));
    if (message !== undefined) refused.push({ known, reason: 'QuotaExceeded', message });
    else
      queued.push({
        known,
        waiting: { id: known.uid, tenant: tenantOf(known), priority: spec.priority, since, request },
      });
  }
  return { queued, refused };
}

/** Counts what attempts have booked: for the limits, and by tenant for the order of the queue. */
export function countBooked(attempts: readonly Attempt[], { fleet, quota, pathOf }: CountingOptions): Map<string, Usage> {
  const usage = new Map<string, Usage>();
  for (const { allocation, parts } of attempts) {
    if (!quota.isEmpty) {
      const path = allocation.path ?? pathOf(allocation.cluster) ?? allocation.cluster;
      quota.count(
        allocation.uid,
        path,
        placedAmount(parts, (name) => fleet.node(name)),
      );
    }
    usage.set(allocation.cluster, addUsage(usage.get(allocation.cluster) ?? noUsage, parts));
  }
  return usage;
}

/** Undefined if the offering does not exist. */
export function requestOf(spec: Allocation['spec'], fleet: Pick<FleetCopy, 'offering'>): PlacementRequest | undefined {
  const { offering, resources } = spec;
  if (offering === undefined) return requestFor({ ...resources, exclusive: false, strategy: 'Pack' }, spec);
  const found = fleet.offering(offering);
  return found && requestFor(found.spec, spec);
}

/** The oldest first. Times are read once, not with every comparison. */
function byAge(candidates: readonly Known[]): { readonly known: Known; readonly since: number }[] {
  return candidates
    .map((known) => ({ known, since: Date.parse(known.allocation.metadata.creationTimestamp ?? '') || 0 }))
    .sort((one, other) => one.since - other.since || (one.known.uid < other.known.uid ? -1 : 1));
}

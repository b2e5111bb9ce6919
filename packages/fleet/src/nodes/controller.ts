import { type GPUNode, gpuNodeKind, type NodeBooking, nodeBookingKind, nodeNamespace } from '@capstan/api';
import { type Client, type Informer, isNotFound } from '@capstan/client';
import {
  addFinalizer,
  type Condition,
  type Controller,
  controller,
  done,
  findCondition,
  ignoring,
  isDeleting,
  type Result,
  removeFinalizer,
  requeueAfter,
} from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { isInPlatformHands } from '../granting/transitions.ts';
import { allocationWords } from '../words/amounts.ts';
import { reportCondition } from './condition.ts';
import { Heartbeats } from './heartbeats.ts';
import { readiness } from './readiness.ts';

export interface NodeOptions {
  /** In milliseconds: how long a node may be silent. */
  readonly silentAfter?: number;
  readonly now?: () => number;
}

type Lease = KubeObject & { readonly spec?: { readonly renewTime?: string } };

export const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };
export const nodeFinalizer = 'fleet.capstan.dev/bookings';

/** Says whether nodes are heard of, and keeps nodes on which something is booked. */
export function nodes({ silentAfter = 40_000, now = Date.now }: NodeOptions = {}): Controller<GPUNode, Copies> {
  return controller('nodes')
    .for<GPUNode>(gpuNodeKind)
    .reads(
      (informers): Copies => ({
        leases: informers.informer<Lease>(leaseKind),
        bookings: informers.informer<NodeBooking>(nodeBookingKind),
        heartbeats: new Heartbeats(silentAfter),
      }),
    )
    .watches<Lease>(leaseKind, ({ metadata: { namespace, name = '' } }) => (namespace === nodeNamespace(name) ? [{ name }] : []))
    .watches<NodeBooking>(nodeBookingKind, ({ metadata: { name = '' } }) => [{ name }])
    .reconcile(async ({ key: { name }, object: node, copies, client, wrote }) => {
      const { leases, bookings, heartbeats } = copies;
      if (node === undefined) {
        heartbeats.forget(name);
        return done;
      }
      const resource = client.resource<GPUNode>(gpuNodeKind);
      if (isDeleting(node)) return remove(node, { client, booking: bookings.get({ name }), now });
      wrote(await addFinalizer(resource, node, nodeFinalizer));
      const hearing = heartbeats.listen(name, leases.get({ namespace: nodeNamespace(name), name })?.spec?.renewTime, now());
      const ready = readiness(node, hearing, silentAfter / 1000);
      if (ready !== undefined) wrote(await reportCondition(client, node, { type: 'Ready', ...ready, now }));
      return 'left' in hearing ? requeueAfter(hearing.left) : done;
    });
}

interface Copies {
  readonly leases: Informer<Lease>;
  readonly bookings: Informer<NodeBooking>;
  readonly heartbeats: Heartbeats;
}

/**
 * Lets a node go when no allocation has something on it. Entries of former allocations go with it: nobody gets the devices of a machine that has left. Its
 * namespace belongs to it, and goes too.
 */
async function remove(
  node: GPUNode,
  { client, booking, now }: { readonly client: Client; readonly booking: NodeBooking | undefined; readonly now: () => number },
): Promise<Result> {
  const entries = (booking?.spec.entries ?? []).filter(({ state }) => !isInPlatformHands(state));
  if (entries.length > 0) {
    const names = entries.map(({ allocation }) => allocationWords(allocation));
    const message =
      `${entries.length === 1 ? 'an allocation has' : `${entries.length} allocations have`} devices on the node: ${names.join(', ')}`.slice(
        0,
        32_768,
      );
    const present = findCondition(node.status?.conditions as readonly Condition[] | undefined, 'Removable');
    if (present?.message !== message)
      await reportCondition(client, node, { type: 'Removable', status: 'False', reason: 'Booked', message, now });
    return done;
  }
  if (booking !== undefined) {
    // Not if something was booked in the meantime.
    const { uid = '', resourceVersion = '', name = '' } = booking.metadata;
    const preconditions = { uid, resourceVersion };
    await ignoring(client.resource<NodeBooking>(nodeBookingKind).delete(name, { preconditions }), isNotFound);
  }
  await removeFinalizer(client.resource<GPUNode>(gpuNodeKind), node, nodeFinalizer);
  return done;
}

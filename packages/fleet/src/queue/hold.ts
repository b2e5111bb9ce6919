import type { FleetIndex } from '../placement/fleet-index.ts';
import { holdPrefix } from './reservation.ts';
import type { Waiting } from './waiting.ts';

/**
 * Reserves devices for a request that has waited long: while it holds, the devices of these nodes that become free are kept for it. A hold that
 * expires lets others use them; after a rest the request gets another one, perhaps on better nodes.
 */
export type Hold =
  | { readonly kind: 'holding'; readonly id: string; readonly nodes: readonly string[]; readonly until: number }
  | { readonly kind: 'resting'; readonly id: string; readonly until: number };

export type Holding = Extract<Hold, { kind: 'holding' }>;

/** Keeps what is free on the nodes of the hold. False if one of them cannot be used any more. */
export function layHold(index: FleetIndex, { request, id }: Waiting, nodes: readonly string[]): boolean {
  const parts = nodes.map((node) => index.portion(request, node));
  if (parts.includes(undefined)) return false;
  for (const part of parts) index.book(holdPrefix + id, { ...part!, kept: 'held' });
  return true;
}

export function liftHold(index: FleetIndex, { id, nodes }: Holding): void {
  for (const node of nodes) index.free(holdPrefix + id, node);
}

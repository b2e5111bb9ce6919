import { done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

export interface Lease extends KubeObject {
  readonly spec?: { readonly renewTime?: string; readonly leaseDurationSeconds?: number };
}

export interface LeaseActions {
  readonly remove: (lease: Lease) => Promise<unknown>;
  readonly now: () => number;
}

/** Deletes a lease that has expired, or looks again when it does. */
export async function reconcileLease(lease: Lease | undefined, { remove, now }: LeaseActions): Promise<Result> {
  if (lease === undefined) return done;
  const left = timeLeft(lease, now());
  if (left > 0) return requeueAfter(left);
  await remove(lease);
  return done;
}

/** In milliseconds, until the lease expires unless it is renewed. A lease without a duration has expired. */
export function timeLeft({ spec }: Lease, now: number): number {
  if (spec?.renewTime === undefined || spec.leaseDurationSeconds === undefined) return 0;
  return Math.max(0, Date.parse(spec.renewTime) + spec.leaseDurationSeconds * 1000 - now);
}

import {
  type Amounts,
  addAmounts,
  compareQuantities,
  onlyAmounts,
  printAmounts,
  type Quantity,
  type StatusError,
} from '@capstan/machinery';
import { forbidden } from '../forbidden.ts';
import { concerns, type Demand, shareOf } from './demand.ts';
import type { Limit } from './limit.ts';

export type Decision =
  /** No limited resource is used. */
  | { readonly type: 'free' }
  | { readonly type: 'refused'; readonly error: StatusError }
  /** The amounts to add to each quota. */
  | { readonly type: 'charged'; readonly shares: readonly Share[] };

export interface Share {
  readonly limit: Limit;
  readonly amounts: Amounts;
}

const free: Decision = { type: 'free' };

/** The usage by quota name, while several demands are decided one after the other. */
export type Running = ReadonlyMap<string, Amounts>;

/** Decides whether a demand fits into every quota that applies to it. */
export function decide(demand: Demand, limits: readonly Limit[], running: Running): Decision {
  const meant = limits.filter((limit) => concerns(limit, demand));
  const unmeasured = meant.map((limit) => unmeasuredReason(limit, demand)).find((reason) => reason !== undefined);
  if (unmeasured !== undefined) return refusal(demand, unmeasured);
  if (meant.length === 0) return free;
  const negative = [...demand.usage].filter(([, { value }]) => value < 0n).map(([name]) => name);
  if (negative.length > 0) return refusal(demand, `quota usage is negative for resource(s): ${negative.sort().join(',')}`);
  const shares: Share[] = [];
  for (const limit of meant) {
    const amounts = shareOf(demand, limit);
    if (amounts === undefined || amounts.size === 0) continue;
    // Usage in the status already exists, so it is counted but cannot be rejected.
    const excess = demand.request.subresource === 'status' ? undefined : excessOf(limit, running.get(limit.name) ?? limit.used, amounts);
    if (excess !== undefined) return refusal(demand, excess);
    shares.push({ limit, amounts });
  }
  return shares.length === 0 ? free : { type: 'charged', shares };
}

function unmeasuredReason(limit: Limit, { measure, source, object }: Demand): string | undefined {
  const names = limit.namesFor(source);
  const missing = measure.missing?.(names, object);
  if (missing !== undefined) return `failed quota: ${limit.name}: ${missing}`;
  for (const name of names) {
    if (!limit.used.has(name)) return `status unknown for quota: ${limit.name}, resources: ${[...names].sort().join(',')}`;
  }
  return undefined;
}

function excessOf(limit: Limit, used: Amounts, share: Amounts): string | undefined {
  const after = new Map<string, Quantity>();
  for (const name of share.keys()) {
    const now = used.get(name);
    if (now !== undefined) after.set(name, now);
  }
  addAmounts(after, share);
  const isExceeded = (name: string): boolean => after.has(name) && compareQuantities(after.get(name)!, limit.hard.get(name)!) > 0;
  const requested = onlyAmounts(share, isExceeded);
  if (requested.size === 0) return undefined;
  const parts = [requested, onlyAmounts(used, isExceeded), onlyAmounts(limit.hard, isExceeded)].map(printAmounts);
  return `exceeded quota: ${limit.name}, requested: ${parts[0]}, used: ${parts[1]}, limited: ${parts[2]}`;
}

function refusal({ request }: Demand, why: string): Decision {
  return { type: 'refused', error: forbidden(request, why) };
}

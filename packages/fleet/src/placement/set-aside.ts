import { isInPlatformHands } from '../granting/transitions.ts';
import { listed } from '../words/amounts.ts';
import { type Judgement, rankOf } from './judgement.ts';
import type { Booked, FleetNode } from './node.ts';

/** Why nobody uses a device that is not free. */
type Reason = 'cleaning' | 'silent' | 'unclean' | 'reserved' | 'held';

const words: Readonly<Record<Reason, (count: string, where: string, isOne: boolean) => string>> = {
  cleaning: (count, where) => `${count} being cleaned on ${where}`,
  silent: (count, where, isOne) => `${count} being cleaned on ${where}, which ${isOne ? 'is' : 'are'} silent`,
  unclean: (count, where) => `${count.replace(/ (is|are)$/, '')} could not be cleaned on ${where}`,
  reserved: (count, where) => `${count} reserved for others on ${where}`,
  held: (count, where) => `${count} kept for older orders on ${where}`,
};

/**
 * Devices of the right kind that nobody has, and that are not free all the same: `2 more are being cleaned on n3`. Undefined if there are none. It does not say for whom
 * they are reserved: that is not the business of other tenants.
 */
export function setAsideWords(judgements: readonly Judgement[], isAnyFree: boolean): string | undefined {
  const found = judgements.filter(({ constraint }) => rankOf(constraint) > rankOf('capacity')).flatMap(setAside);
  const groups = Map.groupBy(found, ({ reason }) => reason);
  const clauses = (Object.keys(words) as Reason[]).flatMap((reason) => {
    const members = groups.get(reason);
    if (members === undefined) return [];
    const count = members.reduce((sum, one) => sum + one.count, 0);
    const amount = `${count}${isAnyFree ? ' more' : ''} ${count === 1 ? 'is' : 'are'}`;
    return [words[reason](amount, listed(members.map(({ node }) => node)), members.length === 1)];
  });
  return clauses.length === 0 ? undefined : clauses.join('; ');
}

/** How many GPUs of the node that come closest to the request are set aside, by reason. */
function setAside({ record, stock }: Judgement): { readonly node: string; readonly reason: Reason; readonly count: number }[] {
  const counts = new Map<Reason, number>();
  const right = new Set(stock.gpus.map(({ uuid }) => uuid));
  for (const booked of record.bookings.values()) {
    const reason = reasonOf(booked, record.node);
    if (reason === undefined) continue;
    counts.set(reason, (counts.get(reason) ?? 0) + booked.devices.filter((uuid) => right.has(uuid)).length);
  }
  return [...counts].filter(([, count]) => count > 0).map(([reason, count]) => ({ node: record.name, reason, count }));
}

function reasonOf({ state, kept }: Booked, { isUnclean, ready }: FleetNode): Reason | undefined {
  if (kept !== undefined) return kept;
  if (state === undefined || !isInPlatformHands(state)) return undefined;
  if (isUnclean) return 'unclean';
  return ready === 'True' ? 'cleaning' : 'silent';
}

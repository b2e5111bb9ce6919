import { isInPlatformHands } from '../granting/transitions.ts';
import { listed } from '../words/amounts.ts';
import { type Judgement, rankOf } from './judgement.ts';

/** Devices of the right kind that nobody has any more, and that are not clean yet: `2 more are being cleaned on n3`. Undefined if there are none. */
export function cleaningWords(judgements: readonly Judgement[], isAnyFree: boolean): string | undefined {
  const dirty = judgements
    .filter(({ constraint }) => rankOf(constraint) > rankOf('capacity'))
    .map((one) => ({ name: one.record.name, node: one.record.node, count: countGivenUp(one) }))
    .filter(({ count }) => count > 0);
  const more = isAnyFree ? ' more' : '';
  const groups = Map.groupBy(dirty, ({ node }) => (node.isUnclean ? 'failed' : node.ready === 'True' ? 'open' : 'silent'));
  const clauses = [...groups].map(([state, members]) => {
    const count = members.reduce((sum, one) => sum + one.count, 0);
    const where = listed(members.map(({ name }) => name));
    if (state === 'failed') return `${count}${more} could not be cleaned on ${where}`;
    const silent = state === 'silent' ? `, which ${members.length === 1 ? 'is' : 'are'} silent` : '';
    return `${count}${more} ${count === 1 ? 'is' : 'are'} being cleaned on ${where}${silent}`;
  });
  return clauses.length === 0 ? undefined : clauses.join('; ');
}

/** GPUs of the node that come closest to the request and are in the hands of the platform. */
function countGivenUp({ record, stock }: Judgement): number {
  const devices = new Set(
    record.bookings
      .values()
      .filter(({ state }) => state !== undefined && isInPlatformHands(state))
      .flatMap((one) => one.devices),
  );
  return stock.gpus.filter(({ uuid }) => devices.has(uuid)).length;
}

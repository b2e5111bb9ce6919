import { compareQuantities, type Fields, fieldsOf, isQuantity, itemsOf, parseQuantity } from '@capstan/machinery';

/** The resources that determine a pod's quality of service. */
const counted = ['cpu', 'memory'];

function positive(amount: unknown): amount is string {
  return typeof amount === 'string' && isQuantity(amount) && parseQuantity(amount).value > 0n;
}

function sameAmount(one: unknown, other: unknown): boolean {
  return positive(one) && positive(other) && compareQuantities(parseQuantity(one), parseQuantity(other)) === 0;
}

export type Quality = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** Guaranteed if all limits are set and equal the requests, BestEffort if there are neither requests nor limits. */
export function qualityOf(podSpec: Readonly<Fields>): Quality {
  const requirements =
    podSpec['resources'] === undefined
      ? [...itemsOf(podSpec['initContainers']), ...itemsOf(podSpec['containers'])].map((container) => fieldsOf(container['resources']))
      : [fieldsOf(podSpec['resources'])];
  let asks = false;
  let guaranteed = true;
  for (const { requests, limits } of requirements) {
    for (const name of counted) {
      const request = fieldsOf(requests)[name];
      const limit = fieldsOf(limits)[name];
      asks ||= positive(request) || positive(limit);
      guaranteed &&= sameAmount(request, limit);
    }
  }
  return asks ? (guaranteed ? 'Guaranteed' : 'Burstable') : 'BestEffort';
}

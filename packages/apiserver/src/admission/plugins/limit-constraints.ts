import {
  type Amounts,
  compareQuantities,
  type Fields,
  fieldsOf,
  itemsOf,
  podAmounts,
  printQuantity,
  type Quantity,
  readAmounts,
  scaledValue,
  textOf,
} from '@capstan/machinery';

interface Used {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** How a pod violates one item of a LimitRange. */
export function podExcesses(limit: Fields, pod: Readonly<Fields>): string[] {
  const type = textOf(limit['type']);
  if (type === 'Pod') return excesses(limit, { requests: podAmounts(pod, 'requests'), limits: podAmounts(pod, 'limits') });
  if (type !== 'Container') return [];
  return containersOf(pod).flatMap((container) => {
    const { requests, limits } = fieldsOf(container['resources']);
    return excesses(limit, { requests: readAmounts(requests), limits: readAmounts(limits) });
  });
}

/** Claims have only requests. */
export function claimExcesses(limit: Fields, claim: Readonly<Fields>): string[] {
  if (limit['type'] !== 'PersistentVolumeClaim') return [];
  const requests = readAmounts(fieldsOf(fieldsOf(claim['spec'])['resources'])['requests']);
  return [
    ...each(limit, 'min', (name, least) => tooLittle(of(limit, name), least, { request: requests.get(name), limit: undefined })),
    ...each(limit, 'max', (name, most) => {
      const usage = `maximum ${of(limit, name)} is ${printQuantity(most)}`;
      const request = requests.get(name);
      if (request === undefined) return `${usage}.  No request is specified`;
      return compareQuantities(request, most) > 0 ? `${usage}, but request is ${printQuantity(request)}` : undefined;
    }),
  ];
}

function excesses(limit: Fields, used: Used): string[] {
  const at = (name: string): Pair => ({ request: used.requests.get(name), limit: used.limits.get(name) });
  return [
    ...each(limit, 'min', (name, least) => tooLittle(of(limit, name), least, at(name))),
    ...each(limit, 'max', (name, most) => tooMuch(of(limit, name), most, at(name))),
    ...each(limit, 'maxLimitRequestRatio', (name, most) =>
      tooFar(`${name} max limit to request ratio per ${textOf(limit['type'])}`, most, at(name)),
    ),
  ];
}

interface Pair {
  readonly request: Quantity | undefined;
  readonly limit: Quantity | undefined;
}

const of = (limit: Fields, name: string): string => `${name} usage per ${textOf(limit['type'])}`;

function each(limit: Fields, field: string, check: (name: string, bound: Quantity) => string | undefined): string[] {
  const found: string[] = [];
  for (const [name, bound] of readAmounts(limit[field])) {
    const problem = check(name, bound);
    if (problem !== undefined) found.push(problem);
  }
  return found;
}

function tooLittle(what: string, least: Quantity, { request, limit }: Pair): string | undefined {
  const usage = `minimum ${what} is ${printQuantity(least)}`;
  if (request === undefined) return `${usage}.  No request is specified`;
  if (compareQuantities(request, least) < 0) return `${usage}, but request is ${printQuantity(request)}`;
  return limit !== undefined && compareQuantities(limit, least) < 0 ? `${usage}, but limit is ${printQuantity(limit)}` : undefined;
}

function tooMuch(what: string, most: Quantity, { request, limit }: Pair): string | undefined {
  const usage = `maximum ${what} is ${printQuantity(most)}`;
  if (limit === undefined) return `${usage}.  No limit is specified`;
  if (compareQuantities(limit, most) > 0) return `${usage}, but limit is ${printQuantity(limit)}`;
  return request !== undefined && compareQuantities(request, most) > 0 ? `${usage}, but request is ${printQuantity(request)}` : undefined;
}

function tooFar(what: string, most: Quantity, { request, limit }: Pair): string | undefined {
  const usage = `${what} is ${printQuantity(most)}`;
  const asked = thousandths(request);
  const allowed = thousandths(limit);
  if (asked === 0) return `${usage}, but no request is specified or request is 0`;
  if (allowed === 0) return `${usage}, but no limit is specified or limit is 0`;
  const ratio = allowed / asked;
  return ratio * 1000 > thousandths(most) ? `${usage}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

function thousandths(amount: Quantity | undefined): number {
  return amount === undefined ? 0 : Number(scaledValue(amount, -3));
}

/** All containers of a pod, including init containers. */
function containersOf(pod: Readonly<Fields>): readonly Fields[] {
  const spec = fieldsOf(pod['spec']);
  return [...itemsOf(spec['containers']), ...itemsOf(spec['initContainers'])];
}

export function limitsOf(limitRange: Readonly<Fields>): readonly Fields[] {
  return itemsOf(fieldsOf(limitRange['spec'])['limits']);
}

import type { FleetIndex, FleetNode, PlacedPart, PlacementRequest } from '@capstan/fleet';
import { isSameMark, type WantedStock, type WarmUnit } from './mark.ts';

/** A warm unit and how it is. */
export interface Shelved extends WarmUnit {
  readonly isPromised: boolean;
  /** Whether its node has prepared it. */
  readonly isReady: boolean;
}

export interface StockInput {
  readonly index: FleetIndex;
  readonly nodeOf: (name: string) => FleetNode | undefined;
  readonly wanted: readonly WantedStock[];
  readonly shelf: readonly Shelved[];
  /** The orders that wait for devices, the first in the queue first. */
  readonly needs: readonly PlacementRequest[];
}

export interface StockPlan {
  readonly giveUp: readonly WarmUnit[];
  readonly add: readonly { readonly wanted: WantedStock; readonly part: PlacedPart }[];
  /** Whether an order waits for something that it could get on this node one day. Then nothing of the node is given away past the queue. */
  readonly isNeeded: (node: string) => boolean;
}

/**
 * Decides which warm units to give up and which to add. Orders come first: units that an order could use are given up, and none are added on nodes that an order waits
 * for. The index is as before, afterwards.
 */
export function nextStock(input: StockInput): StockPlan {
  const { index, nodeOf, wanted, needs } = input;
  const giveUp = new Set(input.shelf.filter((one) => !one.isPromised && !isUsable(one, nodeOf)));
  const counts = new Map<WantedStock, number>();
  const rest = input.shelf.filter((one) => !giveUp.has(one));
  for (const one of rest) if (!wanted.some(({ mark }) => isSameMark(mark, one.entry.stock)) && !one.isPromised) giveUp.add(one);
  for (const each of wanted) {
    const own = rest.filter(({ entry }) => isSameMark(each.mark, entry.stock));
    const surplus = own.filter(({ isPromised }) => !isPromised).toSorted((a, b) => Number(a.isReady) - Number(b.isReady));
    for (const one of surplus.slice(0, Math.max(0, own.length - each.units))) giveUp.add(one);
    counts.set(each, Math.min(own.length, each.units));
  }
  const reachable = new Set([...new Set(needs)].filter((request) => index.targets(request) !== undefined));
  const kept = rest.filter((one) => !giveUp.has(one) && !one.isPromised);
  if (reachable.size > 0 && kept.length > 0) {
    const orders = needs.filter((request) => reachable.has(request));
    for (const one of inTheWay({ kept, leaving: [...giveUp], orders }, input)) giveUp.add(one);
  }
  const isNeeded = onceForEach((node) =>
    reachable.values().some((request) => index.targets({ ...request, nodes: 1 }, (name) => name === node) !== undefined),
  );
  return { giveUp: [...giveUp], add: refill(index, counts, isNeeded), isNeeded };
}

function onceForEach(check: (node: string) => boolean): (node: string) => boolean {
  const known = new Map<string, boolean>();
  return (node) => {
    let answer = known.get(node);
    if (answer === undefined) known.set(node, (answer = check(node)));
    return answer;
  };
}

export function isUsable({ node: name, entry }: WarmUnit, nodeOf: StockInput['nodeOf']): boolean {
  const node = nodeOf(name);
  if (node === undefined || node.ready !== 'True' || node.cordoned || entry.state !== 'Granted') return false;
  const healthy = new Set(node.gpus.filter(({ health }) => health === 'Healthy' || health === 'Degraded').map(({ uuid }) => uuid));
  return entry.devices.every((uuid) => healthy.has(uuid));
}

/** The warm units without which the waiting orders could be placed. */
function inTheWay(
  {
    kept,
    leaving,
    orders,
  }: { readonly kept: readonly Shelved[]; readonly leaving: readonly Shelved[]; readonly orders: readonly PlacementRequest[] },
  { index, nodeOf }: StockInput,
): Shelved[] {
  for (const one of [...kept, ...leaving]) index.free(ownerOf(one), one.node);
  const placed: { readonly owner: string; readonly node: string }[] = [];
  const failed = new Set<PlacementRequest>();
  for (const [number, request] of orders.entries()) {
    const owner = `need/${number}`;
    const parts = failed.has(request) ? [] : (index.find(request)?.parts ?? []);
    if (parts.length === 0) failed.add(request);
    for (const part of parts) {
      index.book(owner, part);
      placed.push({ owner, node: part.node });
    }
  }
  const given = kept.filter((one) => {
    if (!fits(one, { index, nodeOf })) return true;
    index.book(ownerOf(one), { node: one.node, ...one.entry });
    return false;
  });
  for (const { owner, node } of placed) index.free(owner, node);
  // Until that is written, they are booked.
  for (const one of [...given, ...leaving]) index.book(ownerOf(one), { node: one.node, ...one.entry });
  return given;
}

function fits({ node: name, entry }: WarmUnit, { index, nodeOf }: Pick<StockInput, 'index' | 'nodeOf'>): boolean {
  const node = nodeOf(name);
  const others = [...index.bookings(name).values()];
  if (node === undefined || others.some(({ exclusive }) => exclusive || entry.exclusive)) return false;
  const taken = new Set(others.flatMap(({ devices }) => devices));
  const sum = (what: 'cpu' | 'memory'): number => others.reduce((total, one) => total + one[what], entry[what]);
  return !entry.devices.some((uuid) => taken.has(uuid)) && sum('cpu') <= node.cpu && sum('memory') <= node.memory;
}

function refill(index: FleetIndex, counts: ReadonlyMap<WantedStock, number>, isNeeded: StockPlan['isNeeded']): StockPlan['add'] {
  const add: { readonly wanted: WantedStock; readonly part: PlacedPart }[] = [];
  for (const [wanted, count] of counts)
    for (let missing = wanted.units - count; missing > 0; missing--) {
      const part = index.find(wanted.request)?.parts[0];
      if (part === undefined || isNeeded(part.node)) break;
      index.book(`stock/${add.length}`, part);
      add.push({ wanted, part });
    }
  for (const [number, { part }] of add.entries()) index.free(`stock/${number}`, part.node);
  return add;
}

const ownerOf = ({ entry }: WarmUnit): string => `${entry.allocation.uid}/${entry.attempt}`;

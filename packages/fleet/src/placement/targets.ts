import { demandOn } from './demand.ts';
import { chooseDevices } from './devices.ts';
import { type Constraint, type Judgement, judge } from './judgement.ts';
import { labelOf, type PlacedPart } from './node.ts';
import type { NodeRecord } from './node-record.ts';
import type { PlacementRequest } from './request.ts';
import { order } from './shape.ts';

/** Constraints that others lift when they release what they have. */
const passing: ReadonlySet<Constraint | undefined> = new Set(['whole', 'gpus', 'nvlink', 'cpu', 'memory', undefined]);

/**
 * The nodes that could answer the request first if everything on them were released: of one kind and, if required, with the same value of
 * the label, with the most free GPUs. Undefined if no release would help.
 */
export function targetsFor(request: PlacementRequest, records: Iterable<NodeRecord>): string[] | undefined {
  const { nodes, topology } = request;
  const suited = [...records].map((record) => judge(request, record)).filter(({ constraint }) => passing.has(constraint));
  const isBound = nodes > 1 && topology?.strength === 'required';
  const groups = Map.groupBy(
    suited.filter(({ record }) => !isBound || labelOf(record.node, topology.label) !== undefined),
    ({ record, stock }) => `${stock.shape.kind} ${isBound ? labelOf(record.node, topology.label) : ''}`,
  );
  const choices = [...groups]
    .filter(([, members]) => members.length >= nodes)
    .map(([key, members]) => ({ key, members: members.sort(compareFree).slice(0, nodes) }));
  choices.sort((one, other) => freeOf(other.members) - freeOf(one.members) || order(one.key, other.key));
  return choices[0]?.members.map(({ record }) => record.name);
}

/** As much of the request as is free on the node, or undefined if the node cannot be used for it any more. */
export function portionOn(request: PlacementRequest, record: NodeRecord): PlacedPart | undefined {
  const { stock, constraint } = judge(request, record);
  if (!passing.has(constraint)) return undefined;
  const demand = demandOn(request.size, record, stock.shape)!;
  // Everything that is free there: only an empty node will do.
  const free = request.size.kind === 'node' ? record.whole.free : chooseDevices(stock.free, Math.min(demand.gpus, stock.free.length));
  const amount = (needed: number, left: number): number => Math.max(0, Math.min(needed, left));
  return {
    node: record.name,
    devices: free.map(({ uuid }) => uuid),
    cpu: amount(demand.cpu, record.freeCpu),
    memory: amount(demand.memory, record.freeMemory),
  };
}

function compareFree(one: Judgement, other: Judgement): number {
  return other.stock.free.length - one.stock.free.length || order(one.record.name, other.record.name);
}

function freeOf(members: readonly Judgement[]): number {
  return members.reduce((sum, { stock }) => sum + stock.free.length, 0);
}

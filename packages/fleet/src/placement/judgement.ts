import { demandOn } from './demand.ts';
import { isUsable, labelOf } from './node.ts';
import type { NodeRecord, Stock } from './node-record.ts';
import { type PlacementRequest, wantsGpus } from './request.ts';
import { noGpus } from './shape.ts';

/** Why a node cannot be used, in the order in which this is checked. A node counts for the first. */
export const constraints = [
  'node',
  'pool',
  'labels',
  'model',
  'gpuMemory',
  'migProfile',
  'capacity',
  'silent',
  'notReady',
  'cordoned',
  'health',
  'whole',
  'gpus',
  'nvlink',
  'cpu',
  'memory',
] as const;
export type Constraint = (typeof constraints)[number];

/** A node, the GPUs of it that come closest, and why they do not suffice. */
export interface Judgement {
  readonly record: NodeRecord;
  readonly stock: Stock;
  /** Undefined if the node suffices. */
  readonly constraint: Constraint | undefined;
}

export function rankOf(constraint: Constraint | undefined): number {
  return constraint === undefined ? constraints.length : constraints.indexOf(constraint);
}

/** The reason why the node cannot be used for the request, judged by those of its GPUs that come closest. */
export function judge(request: PlacementRequest, record: NodeRecord): Judgement {
  let closest: Judgement | undefined;
  const stocks = wantsGpus(request.size) && record.stocks.length > 0 ? record.stocks : [record.whole];
  for (const stock of stocks) {
    const constraint = firstConstraint(request, record, stock);
    if (closest === undefined || rankOf(constraint) > rankOf(closest.constraint)) closest = { record, stock, constraint };
  }
  return closest!;
}

function firstConstraint(request: PlacementRequest, record: NodeRecord, stock: Stock): Constraint | undefined {
  const { node } = record;
  if (request.named !== undefined && request.named.node !== node.name) return 'node';
  if (request.pools !== undefined && !request.pools.includes(node.pool)) return 'pool';
  if (!Object.entries(request.matchLabels ?? {}).every(([label, value]) => labelOf(node, label) === value)) return 'labels';
  return wantsGpus(request.size) && stock.shape === noGpus ? 'model' : (wrongGpus(request, stock) ?? busy(request, record, stock));
}

function wrongGpus(request: PlacementRequest, { shape }: Stock): Constraint | undefined {
  if (!wantsGpus(request.size)) return undefined;
  const { model, memory, migProfile } = request.size.gpu;
  if (model !== undefined && model !== shape.model) return 'model';
  if (migProfile !== shape.migProfile) return 'migProfile';
  return (memory ?? 0) > shape.memory ? 'gpuMemory' : undefined;
}

function busy({ size }: PlacementRequest, record: NodeRecord, stock: Stock): Constraint | undefined {
  const { node } = record;
  const demand = demandOn(size, record, stock.shape);
  if (demand === undefined || demand.gpus > stock.gpus.length || demand.cpu > node.cpu || demand.memory > node.memory) return 'capacity';
  if (node.ready !== 'True') return node.ready === 'Unknown' ? 'silent' : 'notReady';
  if (node.cordoned) return 'cordoned';
  if (demand.gpus > stock.gpus.filter(isUsable).length) return 'health';
  if (size.kind === 'node' && !record.isEmpty) return 'whole';
  if (demand.gpus > stock.free.length) return 'gpus';
  if (size.gpu.nvlink === 'required' && demand.gpus > 1 && demand.gpus > stock.linked) return 'nvlink';
  if (demand.cpu > record.freeCpu) return 'cpu';
  return demand.memory > record.freeMemory ? 'memory' : undefined;
}

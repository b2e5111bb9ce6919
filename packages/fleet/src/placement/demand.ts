import { chooseDevices } from './devices.ts';
import type { PlacedPart } from './node.ts';
import type { NodeRecord, Stock } from './node-record.ts';
import type { Share, Size } from './request.ts';
import { gpusNeeded, type Shape } from './shape.ts';

/** The meaning of a size on one node. */
export interface Demand {
  readonly gpus: number;
  readonly cpu: number;
  readonly memory: number;
}

export function demandOn(size: Size, { node }: NodeRecord, shape: Shape): Demand | undefined {
  const gpus = gpusNeeded(size, shape);
  if (gpus === undefined) return undefined;
  const { cpu, memory } = node;
  if (size.kind === 'node') return { gpus, cpu, memory };
  if (size.kind === 'fraction') return { gpus, cpu: Math.floor(cpu / size.parts), memory: Math.floor(memory / size.parts) };
  const amount = (share: Share, whole: number): number => {
    if (share !== 'share') return share;
    return gpus === 0 ? 0 : Math.floor((whole * gpus) / Math.max(node.gpus.length, gpus));
  };
  return { gpus, cpu: amount(size.cpu, cpu), memory: amount(size.memory, memory) };
}

/** Whether the node has enough free for the size. The view that the node comes from has checked everything else. */
export function fits(record: NodeRecord, stock: Stock, options: { readonly size: Size; readonly isLinked: boolean }): boolean {
  const { size, isLinked } = options;
  if (size.kind === 'node' && !record.isEmpty) return false;
  const demand = demandOn(size, record, stock.shape);
  return (
    demand !== undefined &&
    demand.gpus <= stock.free.length &&
    (!isLinked || demand.gpus <= 1 || demand.gpus <= stock.linked) &&
    demand.cpu <= record.freeCpu &&
    demand.memory <= record.freeMemory
  );
}

/** The node's part of the answer, on a node that fits. */
export function takeFrom(record: NodeRecord, stock: Stock, size: Size): PlacedPart {
  const { gpus, cpu, memory } = demandOn(size, record, stock.shape)!;
  const node = record.name;
  if (size.kind === 'node') {
    const devices = record.whole.free.map(({ uuid }) => uuid);
    return { node, devices, cpu, memory, exclusive: true };
  }
  return { node, devices: chooseDevices(stock.free, gpus).map(({ uuid }) => uuid), cpu, memory };
}

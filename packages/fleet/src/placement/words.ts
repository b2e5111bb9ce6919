import { cpus, gibibytes, listed } from '../words/amounts.ts';
import type { GpuWish, PlacementRequest } from './request.ts';

/** `4 H100`, `2 GPUs with 40 GiB`, `3 instances 1g.10gb of H100`. */
export function gpuWords(count: number, wish: GpuWish): string {
  const { model, memory, migProfile } = wish;
  const what =
    migProfile === undefined
      ? (model ?? (count === 1 ? 'GPU' : 'GPUs'))
      : `${count === 1 ? 'instance' : 'instances'} ${migProfile}${model === undefined ? '' : ` of ${model}`}`;
  return `${count} ${what}${memory === undefined ? '' : ` with ${gibibytes(memory)}`}`;
}

/** A request in words: `4 H100 on one node`, `4 nodes with 8 H100 each`. */
export function wishWords(request: PlacementRequest): string {
  const { size, nodes, topology } = request;
  const where = topology?.strength === 'required' ? ` with the same ${topology.label}` : '';
  const each = nodes > 1 ? ' each' : '';
  if (size.kind === 'devices') {
    const words = [
      ...(size.count > 0 ? [gpuWords(size.count, size.gpu) + linkWords(size.gpu, size.count)] : []),
      ...(typeof size.cpu === 'number' && size.cpu > 0 ? [cpus(size.cpu)] : []),
      ...(typeof size.memory === 'number' && size.memory > 0 ? [`${gibibytes(size.memory)} of memory`] : []),
    ];
    return nodes > 1 ? `${nodes} nodes${where} with ${listed(words)} each` : `${listed(words)} on one node`;
  }
  if (size.kind === 'fraction') {
    const part = `1/${size.parts} of a node with ${size.gpu.model ?? 'GPUs'}`;
    return nodes > 1 ? `${part} on ${nodes} nodes${where}` : part;
  }
  const start = nodes > 1 ? `${nodes} whole nodes${where}` : 'a whole node';
  return size.count > 0 ? `${start} with ${gpuWords(size.count, size.gpu)}${each}` : start;
}

function linkWords({ nvlink }: GpuWish, count: number): string {
  return nvlink === 'required' && count > 1 ? ' connected by NVLink' : '';
}

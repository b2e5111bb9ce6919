import { type AllocationSpec, directoryLabel, type OfferingSpec, type Strength as WireStrength } from '@capstan/api';
import { parseQuantity, scaledValue } from '@capstan/machinery';
import type { GpuWish, PlacementRequest, Share, Size, Strength } from './request.ts';

/** The request of an order of an offering. Both were validated by their schemas. */
export function requestFor(
  offering: OfferingSpec,
  { nodes, topology, node, directories = [] }: Pick<AllocationSpec, 'nodes' | 'topology' | 'node' | 'directories'>,
): PlacementRequest {
  const { pools, nodeSelector, strategy } = offering;
  const labels = { ...nodeSelector, ...Object.fromEntries(directories.map(({ name, id }) => [directoryLabel(name), id])) };
  return {
    size: sizeOf(offering),
    nodes,
    strategy: strategy === 'Spread' ? 'spread' : 'pack',
    ...(topology && { topology: { label: topology.label, strength: strengthOf(topology.strength) } }),
    ...(pools && { pools }),
    ...(Object.keys(labels).length > 0 && { matchLabels: labels }),
    ...(node !== undefined && { named: { node, repair: false } }),
  };
}

function sizeOf(offering: OfferingSpec): Size {
  const { gpu: offered = {}, fraction, exclusive, cpu, memory } = offering;
  const gpu: GpuWish = {
    ...(offered.model !== undefined && { model: offered.model }),
    ...(offered.memory !== undefined && { memory: amountOf(offered.memory) }),
    ...(offered.migProfile !== undefined && { migProfile: offered.migProfile }),
    ...(offered.nvlink !== undefined && { nvlink: strengthOf(offered.nvlink) }),
  };
  if (fraction !== undefined) return { kind: 'fraction', gpu, parts: fraction };
  const count = offered.count ?? 0;
  if (exclusive) return { kind: 'node', gpu, count };
  return { kind: 'devices', gpu, count, cpu: shareOf(cpu, -3), memory: shareOf(memory) };
}

function shareOf(quantity: string | number | undefined, scale = 0): Share {
  return quantity === undefined ? 'share' : amountOf(quantity, scale);
}

/** In units of `10^scale`, rounded up. */
function amountOf(quantity: string | number, scale = 0): number {
  return Number(scaledValue(parseQuantity(quantity), scale));
}

function strengthOf(strength: WireStrength): Strength {
  return strength === 'Required' ? 'required' : 'preferred';
}

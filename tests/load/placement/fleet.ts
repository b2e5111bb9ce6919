import type { FleetNode, PlacementRequest, Size } from '@capstan/fleet';

const gibibyte = 2 ** 30;
const models = [
  { model: 'A100', memory: 80 * gibibyte },
  { model: 'H100', memory: 80 * gibibyte },
  { model: 'H200', memory: 141 * gibibyte },
  { model: 'L40S', memory: 48 * gibibyte },
];
const gpusPerNode = 10;
const nodesPerRack = 32;

/** Nodes with ten GPUs each, in three pools and racks of 32. */
export function makeFleet(count: number): FleetNode[] {
  return Array.from({ length: count }, (_, node) => ({
    name: `node-${node}`,
    pool: `pool-${node % 3}`,
    labels: { rack: `rack-${Math.floor(node / nodesPerRack)}`, zone: `zone-${node % 4}` },
    cordoned: false,
    ready: 'True' as const,
    cpu: 128_000,
    memory: 2_048 * gibibyte,
    gpus: Array.from({ length: gpusPerNode }, (_unused, gpu) => ({
      ...models[Math.floor(node / nodesPerRack) % models.length]!,
      uuid: `GPU-${node}-${gpu}`,
      nvlink: `group-${Math.floor(gpu / 5)}`,
      numa: Math.floor(gpu / 5),
      health: 'Healthy' as const,
    })),
  }));
}

/** Whole numbers below a limit, the same in every run. */
export function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const sharing = { cpu: 'share', memory: 'share' } as const;

/** Mostly one to eight GPUs of a model; some of any model, with NVLink, in a pool, of a whole node. */
export function mixedRequest(next: (limit: number) => number): PlacementRequest {
  const gpu = { model: models[next(models.length)]!.model };
  const count = 1 + next(8);
  const plain = { nodes: 1, strategy: 'pack' } as const;
  const sort = next(100);
  if (sort < 5) return { ...plain, size: { kind: 'node', gpu, count: gpusPerNode } };
  if (sort < 15) return { ...plain, size: { kind: 'devices', gpu: {}, count, ...sharing } };
  if (sort < 30) return { ...plain, size: { kind: 'devices', gpu: { ...gpu, nvlink: 'required' }, count: 2 + next(4), ...sharing } };
  const size: Size = { kind: 'devices', gpu, count, cpu: 8_000 * count, memory: 64 * gibibyte * count };
  if (sort < 40) return { ...plain, pools: [`pool-${next(3)}`], matchLabels: { zone: `zone-${next(4)}` }, size };
  return { ...plain, strategy: sort < 50 ? 'spread' : 'pack', size };
}

/** Four nodes of one rack with so many GPUs each. */
export function gangRequest(next: (limit: number) => number): PlacementRequest {
  const gpu = { model: models[next(models.length)]!.model };
  return {
    nodes: 4,
    strategy: 'pack',
    topology: { label: 'rack', strength: 'required' },
    size: { kind: 'devices', gpu, count: 1 + next(gpusPerNode), ...sharing },
  };
}

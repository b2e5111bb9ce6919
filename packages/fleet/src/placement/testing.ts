import type { Device, FleetNode } from './node.ts';
import type { PlacementRequest, Size } from './request.ts';

export const gibibyte = 2 ** 30;

export interface NodeOptions extends Partial<Omit<FleetNode, 'gpus'>> {
  readonly gpus?: number;
  readonly model?: string;
  /** How many GPUs are connected with each other. */
  readonly linked?: number;
  readonly each?: Partial<Device>;
}

/** A node with 8 H100 in one NVLink group, 8 cores and 64 GiB, unless told otherwise. GPUs are `<node>-0`, `<node>-1`… */
export function makeNode(name: string, { gpus = 8, model = 'H100', linked = 8, each = {}, ...rest }: NodeOptions = {}): FleetNode {
  return {
    name,
    pool: 'main',
    labels: {},
    cordoned: false,
    ready: 'True',
    cpu: 8_000,
    memory: 64 * gibibyte,
    gpus: Array.from({ length: gpus }, (_, index) => ({
      uuid: `${name}-${index}`,
      model,
      memory: 80 * gibibyte,
      nvlink: `link-${Math.floor(index / linked)}`,
      numa: Math.floor(index / 4),
      health: 'Healthy' as const,
      ...each,
    })),
    ...rest,
  };
}

export type DevicesSize = Extract<Size, { kind: 'devices' }>;

/** So many H100 on one node, unless told otherwise. */
export function ask(count: number, { gpu, ...rest }: Partial<DevicesSize & Omit<PlacementRequest, 'size'>> = {}): PlacementRequest {
  const { cpu = 0, memory = 0, ...request } = rest;
  return {
    nodes: 1,
    strategy: 'pack',
    ...request,
    size: { kind: 'devices', gpu: gpu ?? { model: 'H100' }, count, cpu, memory },
  };
}

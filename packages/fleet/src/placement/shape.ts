import type { Device } from './node.ts';
import type { GpuWish, Size } from './request.ts';

/** A kind of GPU, and how many of it a node has. Nodes with the same shapes compete for the same requests. */
export interface Shape {
  readonly key: string;
  /** The same for all numbers per node. */
  readonly kind: string;
  readonly model: string;
  readonly memory: number;
  readonly migProfile: string | undefined;
  readonly perNode: number;
}

/** Every node has it: requests for no GPUs go to the node with the fewest free ones. */
export const noGpus: Shape = { key: '', kind: '', model: '', memory: 0, migProfile: undefined, perNode: 0 };

export function kindOf({ model, memory, migProfile }: Device): string {
  return `${model}/${memory}/${migProfile ?? ''}`;
}

export function shapeOf(gpu: Device, perNode: number): Shape {
  const { model, memory, migProfile } = gpu;
  const kind = kindOf(gpu);
  return { key: `${kind}/${perNode}`, kind, model, memory, migProfile, perNode };
}

/** The smallest sufficient cards first, so that a request for any card leaves the large ones. */
export function compareShapes(one: Shape, other: Shape): number {
  return one.memory - other.memory || order(one.kind, other.kind) || one.perNode - other.perNode;
}

export function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Whether GPUs of the shape are asked for, and a node has enough of them if all are free. */
export function isShapeFor(shape: Shape, size: Size): boolean {
  return isWished(shape, size.gpu) && (gpusNeeded(size, shape) ?? Number.POSITIVE_INFINITY) <= shape.perNode;
}

/** The GPUs that a node with the shape must have free. Undefined if its GPUs cannot be divided into the parts. */
export function gpusNeeded(size: Size, { perNode }: Shape): number | undefined {
  if (size.kind !== 'fraction') return size.count;
  return perNode > 0 && perNode % size.parts === 0 ? perNode / size.parts : undefined;
}

function isWished(shape: Shape, wish: GpuWish): boolean {
  return (
    (wish.model === undefined || wish.model === shape.model) && wish.migProfile === shape.migProfile && (wish.memory ?? 0) <= shape.memory
  );
}

export { FleetIndex, type Placement } from './placement/fleet-index.ts';
export type { Constraint } from './placement/judgement.ts';
export type { Booked, Device, FleetNode, PlacedPart } from './placement/node.ts';
export type { GpuWish, NamedTarget, PlacementRequest, Share, Size, Strength } from './placement/request.ts';
export type { NodeClass, Shortage } from './placement/shortage.ts';

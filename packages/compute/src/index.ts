export { allocationFinalizer } from './allocations/finalizer.ts';
export { fleetNodeOf } from './allocations/fleet-node.ts';
export type { SchedulerOptions } from './allocations/scheduler.ts';
export { type FleetState, type Plan, type PlanInput, type PlannedUse, planAllocation, quotaLedger } from './plan.ts';
export { compute, computeProduct } from './product.ts';

export { fleetNodeOf } from './allocations/fleet-node.ts';
export type { LimitsOf } from './allocations/quota.ts';
export { allocationFinalizer, type SchedulerOptions } from './allocations/scheduler.ts';
export { type PlanInput, planAllocation } from './plan.ts';
export { compute, computeProduct } from './product.ts';

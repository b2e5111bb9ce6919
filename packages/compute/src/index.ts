export { fleetNodeOf } from './allocations/fleet-node.ts';
export type { SchedulerOptions } from './allocations/scheduler.ts';
export { WorkspacePaths } from './allocations/workspaces.ts';
export { type FleetState, type Plan, type PlanInput, type PlannedUse, planAllocation, quotaLedger } from './plan.ts';
export { compute, computeProduct } from './product.ts';
export { performSteps, type StepWork } from './reconciling/steps.ts';
export { addressOf, type NodeState, nodeStateOf } from './units/nodes.ts';

export { usedBy } from './cleaning/next-entries.ts';
export { taskFor as cleaningTaskFor } from './cleaning/task.ts';
export { type Attempt, attemptsIn, entryFor, isAlive, stateOn } from './granting/attempt.ts';
export {
  addEntry,
  advanceEntry,
  type Capacity,
  type Change,
  type EntryKey,
  emptyBooking,
  handOver,
  isEntry,
  type RefusalCode,
} from './granting/content.ts';
export { type Circumstances, nextStep, type Step } from './granting/next-step.ts';
export { type BookingEvent, type EntryState, isInPlatformHands, transitions } from './granting/transitions.ts';
export { type Verdict, verdictOn } from './granting/verdict.ts';
export { type NodeOptions, nodeFinalizer } from './nodes/controller.ts';
export { FleetIndex, type Placement } from './placement/fleet-index.ts';
export type { Constraint } from './placement/judgement.ts';
export type { Booked, Device, FleetNode, PlacedPart } from './placement/node.ts';
export { requestFor } from './placement/order.ts';
export type { GpuWish, NamedTarget, PlacementRequest, Share, Size, Strength } from './placement/request.ts';
export type { NodeClass, Shortage } from './placement/shortage.ts';
export { fleet, fleetProduct } from './product.ts';
export type { Hold } from './queue/hold.ts';
export { type Grant, type PassInput, type PassResult, type QueueRules, runPass } from './queue/pass.ts';
export { isKeeping, layReservation, liftReservation, type Reservation, withOwnReservations } from './queue/reservation.ts';
export { addUsage, noUsage, type Usage, type Waiting } from './queue/waiting.ts';
export { QuotaLedger } from './quota/ledger.ts';
export type { QuotaAmount, QuotaLimits, QuotaRefusal, QuotaUse } from './quota/limits.ts';
export { modelKey, quotaWords } from './quota/measures.ts';
export { measuring } from './quota/measuring.ts';
export { isWithin } from './quota/paths.ts';
export { type CountedObject, QuotaGate } from './quota/quota-gate.ts';
export { allocationWords } from './words/amounts.ts';

import { millisecondsIn, type NodeUnitSpec, type UnitReason } from '@capstan/api';
import { type RoomState, UnitProblem } from '../drivers/driver.ts';
import type { Ending } from '../records/state.ts';

/** How a unit ends that may have been started elsewhere; undefined if it must not end. `age`: of the last contact with the control plane, in milliseconds. */
export function fencedEnding({ fenceAfter }: Pick<NodeUnitSpec, 'fenceAfter'>, age: number): Ending | undefined {
  if (fenceAfter === undefined || age < millisecondsIn(fenceAfter)) return undefined;
  return { reason: 'Fenced', message: `the node could not reach the control plane for ${fenceAfter}` };
}

/** A node that is cut off starts nothing, also in the moment before it ends its units. */
export function refuseIfCutOff(spec: Pick<NodeUnitSpec, 'fenceAfter'>, age: number): void {
  const ending = fencedEnding(spec, age);
  if (ending !== undefined) throw new UnitProblem(ending.reason, ending.message ?? '', { isFinal: true });
}

/** Whether the program may have been ended by its guard, which could not write that down. */
export function wasForced(found: RoomState | undefined): boolean {
  return found?.phase === 'lost' || (found?.phase === 'exited' && found.code === 137);
}

/** How a unit ends that the control plane has stopped. */
export function stopEnding({ stopReason = 'Stopped' }: Pick<NodeUnitSpec, 'stopReason'>): Ending {
  const messages: Partial<Record<UnitReason, string>> = { TimeLimit: 'its time was over', Idle: 'it was idle' };
  const message = messages[stopReason];
  return { reason: stopReason, ...(message !== undefined && { message }) };
}

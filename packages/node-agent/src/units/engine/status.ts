import type { NodeUnitStatus, UnitReason } from '@capstan/api';
import type { RoomState } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';
import type { Ending } from '../records/state.ts';

/** Everything about a unit that is not on the disk. */
export interface Live {
  readonly driver?: NonNullable<NodeUnitStatus['driver']>;
  readonly step?: string;
  readonly room?: Extract<RoomState, { phase: 'running' }>;
  readonly ready?: boolean;
  /** Why it does not go on. */
  readonly problem?: { readonly reason: UnitReason; readonly message: string };
  readonly idleSince?: string;
}

const longestMessage = 4096;
const longestStep = 256;

/** The status of the NodeUnit; undefined if it is not yet known whether the program runs. */
export function statusOf({ state, generation, restarts }: UnitRecord, live: Live): NodeUnitStatus | undefined {
  const { driver, room, ready, step, problem, idleSince } = live;
  const always = { phase: state.phase, observedGeneration: generation, ...(driver && { driver }), ...(restarts > 0 && { restarts }) };
  const trouble = problem && { reason: problem.reason, message: problem.message.slice(0, longestMessage) };
  switch (state.phase) {
    case 'Ended':
    case 'Lost':
      return { ...always, ...endingFields(state.ending), ready: false };
    case 'Running':
      if (room === undefined && problem === undefined) return undefined;
      return {
        ...always,
        ...(room && roomFields(room)),
        ...trouble,
        ready: room !== undefined && ready === true,
        ...(idleSince && { idleSince }),
      };
    case 'Stopping':
      return { ...always, ...(room && roomFields(room)), ...endingFields(state.ending), ...trouble, ready: false };
    case 'Restarting':
      return { ...always, ...endingFields(state.last), ready: false };
    default:
      return { ...always, ...trouble, ...(step && { step: step.slice(0, longestStep) }) };
  }
}

function roomFields({ pid, startedAt, address, container, notice }: NonNullable<Live['room']>): Partial<NodeUnitStatus> {
  return {
    pid,
    startedAt,
    ...(notice !== undefined && { message: notice }),
    ...(address !== undefined && { address }),
    ...(container !== undefined && { container }),
  };
}

function endingFields({ message, ...ending }: Ending): Partial<NodeUnitStatus> {
  return { ...ending, ...(message !== undefined && message !== '' && { message: message.slice(0, longestMessage) }) };
}

import type { NodeUnitPhase, UnitOutcome, UnitReason } from '@capstan/api';
import type { Moment } from '../../time/moment.ts';

/** How a program ended, or why it never ran. */
export type Ending = Pick<UnitOutcome, 'startedAt' | 'finishedAt' | 'exitCode' | 'lastLines'> & {
  readonly reason: UnitReason;
  readonly message?: string;
};

/** How far a unit is. A state is on the disk before anything is done in it. */
export type UnitState =
  | { readonly phase: 'Pending' }
  | { readonly phase: 'Waiting'; readonly since: Moment }
  | { readonly phase: 'Preparing' }
  /** The node is prepared for a program that comes with another NodeUnit. */
  | { readonly phase: 'Warm' }
  /** The program of the present incarnation was started, or is about to be, while the machine ran as `boot`. */
  | { readonly phase: 'Running'; readonly boot: string; readonly since: Moment }
  | { readonly phase: 'Restarting'; readonly since: Moment; readonly last: Ending }
  /** The program is being ended. Afterwards it is started again, or not. */
  | { readonly phase: 'Stopping'; readonly ending: Ending; readonly restart: boolean }
  | { readonly phase: 'Ended' | 'Lost'; readonly ending: Ending };

export type StateOf<P extends NodeUnitPhase> = Extract<UnitState, { readonly phase: P }>;

const ends: readonly NodeUnitPhase[] = ['Stopping', 'Ended'];

/** The phases that may follow each phase. Every way into `Running` goes through `Preparing` and counts up the incarnation. */
export const transitions: Readonly<Record<NodeUnitPhase, readonly NodeUnitPhase[]>> = {
  Pending: ['Waiting', 'Preparing', ...ends],
  Waiting: ['Preparing', ...ends],
  Preparing: ['Waiting', 'Warm', 'Running', ...ends],
  Warm: ends,
  Running: ['Preparing', 'Restarting', 'Lost', ...ends],
  Restarting: ['Waiting', 'Preparing', ...ends],
  Stopping: ['Restarting', 'Ended'],
  Ended: [],
  Lost: [],
};

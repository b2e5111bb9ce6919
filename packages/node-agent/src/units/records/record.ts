import type { NodeUnitSpec } from '@capstan/api';
import type { Moment } from '../../time/moment.ts';
import type { UnitState } from './state.ts';

/** Everything that the agent keeps of a NodeUnit, and that later agents go on with. It has no secrets. */
export interface UnitRecord {
  readonly version: 1;
  readonly name: string;
  /** UID of the NodeUnit. */
  readonly uid: string;
  readonly generation: number;
  readonly spec: NodeUnitSpec;
  readonly acceptedAt: Moment;
  /** The latest start of the program, from 0; -1 before the first. It never goes down. */
  readonly incarnation: number;
  /** How often the program was started again after it had ended. */
  readonly restarts: number;
  /** Ends in a row that the next delay depends on. */
  readonly failures: number;
  readonly uploaded: boolean;
  readonly state: UnitState;
  /** When the NodeUnit was deleted. Only the logs are kept from then on. */
  readonly removedAt?: Moment;
}

export function newRecord(unit: Pick<UnitRecord, 'name' | 'uid' | 'generation' | 'spec' | 'acceptedAt'>): UnitRecord {
  return { version: 1, ...unit, incarnation: -1, restarts: 0, failures: 0, uploaded: false, state: { phase: 'Pending' } };
}

const namePattern = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/** Names are parts of paths. */
export function isUnitName(name: string): boolean {
  return namePattern.test(name) && !name.includes('..');
}

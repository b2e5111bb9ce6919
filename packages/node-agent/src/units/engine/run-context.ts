import type { NodeUnitStatus } from '@capstan/api';
import type { Moment } from '../../time/moment.ts';
import type { UnitDriver, UnitRoom } from '../drivers/driver.ts';
import type { DriverRegistry } from '../drivers/registry.ts';
import type { UnitGuards } from '../guards/guards.ts';
import type { ProbeResults } from '../probes/prober.ts';
import type { UnitRecord } from '../records/record.ts';
import type { UnitRecords } from '../records/records.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { UnitTimes } from './times.ts';

/** The folders of uploads. */
export interface UploadPlaces {
  /** The unit waits for files. */
  begin(name: string): void;
  /** Resolves when nothing is being made for the unit any more. */
  end(name: string): Promise<void>;
}

/** Everything that the life of a unit needs from the agent. */
export interface RunContext {
  readonly records: UnitRecords;
  readonly drivers: DriverRegistry;
  /** Looks up everything that the spec only names. Rejects with a UnitProblem if something is missing. */
  readonly resolve: (record: UnitRecord) => Promise<UnitRoom>;
  readonly secrets: SecretStore;
  readonly guards: UnitGuards;
  readonly uploads: Pick<UploadPlaces, 'begin'>;
  /** Of the last contact with the control plane, in milliseconds. */
  readonly contactAge: () => Promise<number>;
  /** Probes the program until the signal aborts. */
  readonly probe: (unit: { readonly record: UnitRecord; readonly driver: UnitDriver }, results: ProbeResults, signal: AbortSignal) => void;
  readonly now: () => Promise<Moment>;
  readonly times: UnitTimes;
  readonly onStatus: (record: UnitRecord, status: NodeUnitStatus) => void;
  readonly log: (line: string) => void;
  /** Ends with the agent; programs go on. */
  readonly signal: AbortSignal;
}

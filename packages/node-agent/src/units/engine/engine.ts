import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalNodeUnitPhases, type NodeUnit, type NodeUnitStatus } from '@capstan/api';
import type { Moment } from '../../time/moment.ts';
import type { UnitDriver, UnitRoom } from '../drivers/driver.ts';
import { UnitProblem } from '../drivers/driver.ts';
import type { DriverRegistry } from '../drivers/registry.ts';
import type { UnitGuards } from '../guards/guards.ts';
import { probe } from '../probes/prober.ts';
import { isUnitName, newRecord, type UnitRecord } from '../records/record.ts';
import type { UnitRecords } from '../records/records.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { LastContact } from './contact.ts';
import { fencedEnding } from './endings.ts';
import { removeTraces } from './removal.ts';
import type { RunContext, UploadPlaces } from './run-context.ts';
import type { UnitTimes } from './times.ts';
import { UnitRun } from './unit-run.ts';

export interface UnitEngineOptions {
  readonly records: UnitRecords;
  readonly drivers: DriverRegistry;
  readonly resolve: (record: UnitRecord) => Promise<UnitRoom>;
  readonly secrets: SecretStore;
  readonly contact: LastContact;
  readonly guards: UnitGuards;
  readonly uploads: UploadPlaces;
  /** Whether the node was cleaned after an allocation, or is being cleaned. */
  readonly isCleaned: (allocation: string) => boolean;
  readonly now: () => Promise<Moment>;
  readonly times: UnitTimes;
  /** Stores the status of a NodeUnit at the control plane, some time. */
  readonly report: (unit: { readonly name: string; readonly uid: string }, status: NodeUnitStatus) => void;
  readonly log: (line: string) => void;
}

/** The NodeUnits of this machine. Each is started at most once; programs go on without the engine, and the next one finds them again. */
export class UnitEngine implements AsyncDisposable {
  readonly #options: UnitEngineOptions;
  readonly #runs = new Map<string, UnitRun>();
  /** NodeUnits that are not recorded yet, in their latest form. */
  readonly #fresh = new Map<string, { readonly abort: AbortController; unit: NodeUnit }>();
  readonly #removing = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #working = new Set<Promise<unknown>>();
  readonly #phases = new Map<string, string>();
  /** One event for each unit that is launched. */
  readonly #launches = new EventEmitter().setMaxListeners(0);

  constructor(options: UnitEngineOptions) {
    this.#options = options;
  }

  /** Continues everything that the records have, and ends programs without a record. Call it once, before `accept`. */
  async resume(): Promise<void> {
    const { records, now } = this.#options;
    const { boot } = await now();
    for (const record of records.all.values()) {
      if (record.removedAt !== undefined) this.#track(this.#finishRemoval(record));
      else this.#launch(record, { isConfirmed: latestBoot(record) === boot });
    }
    await this.#endStrangers();
    this.#track(this.#fence());
  }

  /** Takes a NodeUnit as the control plane has it now. Doing so again changes nothing. */
  async accept(unit: NodeUnit): Promise<void> {
    const { records } = this.#options;
    const name = unit.metadata.name ?? '';
    if (!isUnitName(name)) return this.#say(unit, { phase: 'Ended', reason: 'Error', message: 'the name of the NodeUnit cannot be used' });
    const wanted = wantedOf(unit);
    const run = this.#runs.get(name);
    if (run !== undefined) {
      await run.confirm(wanted);
      const { status } = run;
      if (status !== undefined) this.#options.report({ name, uid: wanted.uid }, status);
      return;
    }
    if (finalNodeUnitPhases.has(unit.status?.phase ?? '')) return;
    if (records.isForgotten(name) || records.all.has(name))
      return this.#say(unit, {
        phase: 'Lost',
        reason: 'Lost',
        message: 'this start was removed from the node before, and is not repeated',
      });
    if (!unit.spec.warm && wasStarted(unit.status))
      return this.#say(unit, { phase: 'Lost', reason: 'Lost', message: 'the node has lost its record of this unit' });
    const fresh = this.#fresh.get(name);
    if (fresh !== undefined) fresh.unit = unit;
    else await this.#record(unit);
  }

  /** The NodeUnit was deleted: ends the program, and removes every trace but the logs, which go after a while. */
  remove(name: string): Promise<void> {
    this.#fresh.get(name)?.abort.abort();
    const removing = this.#removing.get(name) ?? this.#remove(name).finally(() => this.#removing.delete(name));
    this.#removing.set(name, removing);
    return removing;
  }

  /** The NodeUnits that were not removed. */
  get names(): string[] {
    return [...this.#runs.keys()];
  }

  get runs(): IterableIterator<UnitRun> {
    return this.#runs.values();
  }

  find(name: string): UnitRun | undefined {
    return this.#runs.get(name);
  }

  /** The run of a NodeUnit, as soon as there is one. Rejects when the signal aborts. */
  async launched(name: string, signal: AbortSignal): Promise<UnitRun> {
    const known = this.#runs.get(name);
    if (known !== undefined) return known;
    const [run] = (await once(this.#launches, launchOf(name), { signal })) as [UnitRun];
    return run;
  }

  /** Removed units whose logs are still there. */
  get removed(): UnitRecord[] {
    return [...this.#options.records.all.values()].filter(({ removedAt }) => removedAt !== undefined);
  }

  driverOf({ spec }: UnitRecord): UnitDriver | undefined {
    return this.#options.drivers.find(spec);
  }

  /** Leaves programs alone: the next agent finds them again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled([...this.#runs.values()].map(({ done }) => done));
    await Promise.allSettled(this.#working);
    await this.#options.contact.settled();
  }

  /** Until the record is on the disk, the unit is not there. */
  async #record(unit: NodeUnit): Promise<void> {
    const { records, times, now, isCleaned } = this.#options;
    const fresh = { abort: new AbortController(), unit };
    const name = unit.metadata.name!;
    this.#fresh.set(name, fresh);
    const signal = AbortSignal.any([fresh.abort.signal, this.#stopped.signal]);
    try {
      const record = newRecord({ ...wantedOf(unit), acceptedAt: await now() });
      for (let delay = times.retryDelay; !signal.aborted; delay = Math.min(2 * delay, times.longestRestartDelay)) {
        if (isCleaned(record.spec.allocation))
          return this.#say(unit, { phase: 'Ended', reason: 'Stopped', message: 'the node was cleaned after the allocation of this unit' });
        try {
          await records.write(record);
          const run = this.#launch(record, { isConfirmed: true });
          // It may have been stopped or deleted meanwhile.
          if (fresh.abort.signal.aborted) run.stop({ reason: 'Stopped', message: 'the NodeUnit was deleted' });
          return await run.confirm(wantedOf(fresh.unit));
        } catch (error) {
          if (!(error instanceof UnitProblem)) throw error;
          this.#say(unit, { phase: 'Pending', reason: error.reason, message: error.message });
          await sleep(delay, undefined, { signal }).catch(() => {});
        }
      }
    } finally {
      this.#fresh.delete(name);
      if (fresh.abort.signal.aborted && this.#runs.has(name)) this.remove(name).catch(() => {});
    }
  }

  #launch(record: UnitRecord, options: { readonly isConfirmed: boolean }): UnitRun {
    const { records, drivers, resolve, secrets, contact, guards, uploads, now, times, log, report } = this.#options;
    const context: RunContext = {
      records,
      drivers,
      resolve,
      secrets,
      guards,
      uploads,
      contactAge: async () => contact.age(await now()),
      now,
      times,
      log,
      signal: this.#stopped.signal,
      probe: (unit, results, signal) => probe({ id: unit.record.name, spec: unit.record.spec, driver: unit.driver }, results, signal),
      onStatus: ({ name, uid }, status) => {
        this.#note(name, status);
        report({ name, uid }, status);
      },
    };
    const run = new UnitRun(record, context, options);
    this.#runs.set(record.name, run);
    this.#launches.emit(launchOf(record.name), run);
    return run;
  }

  #note(name: string, { phase, reason, message, exitCode }: NodeUnitStatus): void {
    if (this.#phases.get(name) === phase) return;
    this.#phases.set(name, phase);
    const why =
      reason === undefined
        ? ''
        : ` (${[reason, exitCode === undefined ? undefined : `exit code ${exitCode}`, message].filter(Boolean).join(', ')})`;
    this.#options.log(`unit ${name}: ${phase}${why}`);
  }

  #say({ metadata: { name = '', uid = '' } }: NodeUnit, status: NodeUnitStatus): void {
    this.#note(name, status);
    this.#options.report({ name, uid }, status);
  }

  async #remove(name: string): Promise<void> {
    const run = this.#runs.get(name);
    if (run === undefined) return;
    run.stop({ reason: 'Stopped', message: 'the NodeUnit was deleted' });
    await run.done;
    if (!run.isFinal) return;
    const { records, now } = this.#options;
    const record = { ...run.record, removedAt: await now() };
    // The traces go although this may not get to the disk: the next agent removes them again.
    await records.write(record).catch(() => {});
    this.#runs.delete(name);
    this.#phases.delete(name);
    this.#track(this.#finishRemoval(record));
  }

  /** Also of units that an earlier agent began to remove. */
  async #finishRemoval(record: UnitRecord): Promise<void> {
    const { records, secrets, uploads, now, times, log } = this.#options;
    const { signal } = this.#stopped;
    const { name } = record;
    for (let delay = times.retryDelay; !signal.aborted; delay = Math.min(2 * delay, times.longestRestartDelay)) {
      try {
        await uploads.end(name);
        await removeTraces(record, { driver: this.driverOf(record), secrets, folder: records.folder(name) });
        const left = times.logRetention - ageOf(record.removedAt!, await now());
        await sleep(Math.min(Math.max(0, left), 2 ** 31 - 1), undefined, { signal });
        return await records.forget(name);
      } catch (error) {
        if (signal.aborted) return;
        log(`unit ${name} cannot be removed yet: ${error instanceof Error ? error.message : String(error)}`);
        await sleep(delay, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Programs whose records are gone or cannot be read: nobody could ever end them otherwise. */
  async #endStrangers(): Promise<void> {
    const { drivers, records, log } = this.#options;
    for (const driver of drivers.all) {
      if (driver.isolation === undefined) continue;
      for (const id of await driver.list().catch(() => [])) {
        if (records.all.has(id)) continue;
        log(`a unit ${id} has no record, so it is ended`);
        this.#track(driver.stop(id, 0).then(() => driver.remove(id)));
      }
    }
  }

  /** Ends programs that may have been started elsewhere. */
  async #fence(): Promise<void> {
    const { contact, now, times } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const age = contact.age(await now());
      for (const run of this.#runs.values()) {
        const ending = run.isFinal ? undefined : fencedEnding(run.record.spec, age);
        if (ending !== undefined) run.stop(ending);
      }
      await sleep(times.fenceInterval, undefined, { signal }).catch(() => {});
    }
  }

  #track(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => {
        if (!this.#stopped.signal.aborted) this.#options.log(`units: ${error instanceof Error ? error.message : String(error)}`);
      })
      .finally(() => this.#working.delete(tracked));
    this.#working.add(tracked);
  }
}

/** Not the name alone: `error` has a meaning of its own. */
const launchOf = (name: string): string => `launch of ${name}`;

function wantedOf({ metadata, spec }: NodeUnit): Pick<UnitRecord, 'name' | 'uid' | 'generation' | 'spec'> {
  const { name = '', uid = '', generation = 0, deletionTimestamp } = metadata;
  return { name, uid, generation, spec: deletionTimestamp === undefined ? spec : { ...spec, stopped: true } };
}

/** Whether the control plane knows that the unit got so far that it may have run. */
function wasStarted(status: NodeUnitStatus | undefined): boolean {
  return status?.startedAt !== undefined || ['Preparing', 'Running', 'Restarting', 'Stopping'].includes(status?.phase ?? '');
}

/** The machine as it ran when the unit was last heard of. */
function latestBoot({ state, acceptedAt }: UnitRecord): string {
  return 'since' in state ? state.since.boot : acceptedAt.boot;
}

function ageOf(moment: Moment, now: Moment): number {
  return Math.max(0, now.wall - moment.wall, now.boot === moment.boot ? now.uptime - moment.uptime : 0);
}

import { finalNodeUnitPhases, millisecondsIn, type NodeUnitPhase, type NodeUnitStatus } from '@capstan/api';
import { passedBetween } from '../../time/moment.ts';
import type { RoomState, UnitDriver, UnitProblem } from '../drivers/driver.ts';
import type { ProbeResults } from '../probes/prober.ts';
import type { UnitRecord } from '../records/record.ts';
import { type Ending, type StateOf, transitions, type UnitState } from '../records/state.ts';
import { fencedEnding, stopEnding, wasForced } from './endings.ts';
import { launch, type Prepared } from './launch.ts';
import { lastLinesOf, outcomeOf } from './outcome.ts';
import { pause } from './pause.ts';
import { asProblem } from './problem.ts';
import { failuresAfter, restartDelay, restarts } from './restart.ts';
import type { RunContext } from './run-context.ts';
import { type Live, statusOf } from './status.ts';
import { unusedIncarnation } from './unused-incarnation.ts';

/** In milliseconds, between two looks at a program that has not changed. */
const notTooOften = 100;

/** A state that follows, with everything that changes with it. */
type Next = Partial<Pick<UnitRecord, 'incarnation' | 'restarts' | 'failures'>> & { readonly state: UnitState };
type Steps = { readonly [P in NodeUnitPhase]?: (state: StateOf<P>) => Promise<Next | undefined> };

/**
 * The life of one NodeUnit on this machine: one step for each phase, which does the work of the phase and says what follows. A record is on the disk
 * before a program is started; every other state can be found again with the help of the driver.
 */
export class UnitRun {
  readonly #context: RunContext;
  #record: UnitRecord;
  #live: Live = {};
  #stop: Ending | undefined;
  /** Resolved and prepared, and not started yet. */
  #prepared: Prepared | undefined;
  /** A start that is under way while its record gets to the disk. */
  #starting: Promise<void> | undefined;
  #interrupt = new AbortController();
  #unhealthy: string | undefined;
  #retries = 0;
  /** Why the last attempt to start the program went wrong. */
  #failed: UnitProblem | undefined;
  #isConfirmed: boolean;
  #isUploading = false;
  /** By this agent. */
  #isPrepared = false;
  /** Changes of the record follow each other. */
  #writing: Promise<void> = Promise.resolve();
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves when the program has started for the first time, or is known to run; or when there will be no such time. */
  readonly begun: Promise<void> = this.#begun.promise;
  /** Resolves when the unit has ended, or the agent stops. */
  readonly done: Promise<void>;

  /** `isConfirmed`: the control plane has just asked for the unit. */
  constructor(record: UnitRecord, context: RunContext, { isConfirmed }: { readonly isConfirmed: boolean }) {
    this.#record = record;
    this.#context = context;
    this.#isConfirmed = isConfirmed;
    this.#live = { driver: context.drivers.nameFor(record.spec) };
    if (record.spec.stopped) this.#stop = stopEnding(record.spec);
    this.done = this.#loop()
      .catch((error: unknown) => {
        context.log(`unit ${record.name} cannot go on: ${error instanceof Error ? error.message : String(error)}`);
      })
      .finally(() => this.#begun.resolve());
  }

  get record(): UnitRecord {
    return this.#record;
  }

  get live(): Live {
    return this.#live;
  }

  get isFinal(): boolean {
    return finalNodeUnitPhases.has(this.#record.state.phase);
  }

  /** Undefined until it is known how the program is. */
  get status(): NodeUnitStatus | undefined {
    return statusOf(this.#record, this.#live);
  }

  /** Whether files may be sent now. */
  get awaitsUpload(): boolean {
    const { spec, uploaded, state } = this.#record;
    return spec.upload && !uploaded && (state.phase === 'Waiting' || state.phase === 'Pending');
  }

  /** The control plane asks for this unit, in this form. Only the end of a unit can change. */
  async confirm({ uid, generation, spec }: Pick<UnitRecord, 'uid' | 'generation' | 'spec'>): Promise<void> {
    const known = this.#record;
    this.#isConfirmed = true;
    if (spec.stopped) this.stop(stopEnding(spec));
    if (known.uid !== uid || known.generation !== generation) await this.#change((record) => ({ ...record, uid, generation, spec }));
    this.wake();
  }

  /** Ends the unit for good. The first reason counts. */
  stop(ending: Ending): void {
    this.#stop ??= ending;
    this.wake();
  }

  /** Something has arrived that the unit may wait for. */
  wake(): void {
    this.#interrupt.abort();
  }

  /** Files arrive, and the unit waits for their end. */
  get isUploading(): boolean {
    return this.#isUploading;
  }

  set isUploading(isUploading: boolean) {
    this.#isUploading = isUploading;
    this.wake();
  }

  /** The files are complete. Rejects with a UnitProblem if that cannot be recorded. */
  async uploaded(): Promise<void> {
    await this.#changeForSure((record) => ({ ...record, uploaded: true }));
    this.wake();
  }

  setIdle(idleSince: string | undefined): void {
    if (this.#live.idleSince === idleSince || this.#record.state.phase !== 'Running') return;
    this.#show({ idleSince });
  }

  async #loop(): Promise<void> {
    const { signal } = this.#context;
    // The control plane takes units without a status for pending.
    if (this.#record.state.phase !== 'Pending') this.#report();
    while (!signal.aborted && !this.isFinal) {
      const step = this.#steps[this.#record.state.phase] as (state: UnitState) => Promise<Next | undefined>;
      const next = await step(this.#record.state);
      if (next === undefined) break;
      await this.#enter(next);
    }
    // A program that may start is not left half started.
    await this.#starting?.catch(() => {});
  }

  readonly #steps: Steps = {
    Pending: async () => (this.#stop && this.#incarnation < 0 ? ended(this.#stop) : this.#begin()),
    Waiting: (state) => this.#wait(state),
    Preparing: () => this.#prepare(),
    Warm: () => this.#stayWarm(),
    Running: (state) => this.#keep(state),
    Restarting: (state) => this.#pause(state),
    Stopping: (state) => this.#end(state),
  };

  async #begin(): Promise<Next> {
    const isMissing = (await this.#missing()) !== undefined;
    return { state: isMissing ? { phase: 'Waiting', since: await this.#context.now() } : { phase: 'Preparing' } };
  }

  async #wait({ since }: StateOf<'Waiting'>): Promise<Next | undefined> {
    const { now, times, uploads, signal } = this.#context;
    while (!signal.aborted) {
      const interrupted = this.#arm();
      if (this.#stop !== undefined) return this.#stopNow(this.#stop);
      const missing = await this.#missing();
      if (missing === undefined) return { state: { phase: 'Preparing' } };
      this.#show({ problem: missing });
      const mayExpire = missing.reason === 'UploadMissing' && !this.#isUploading;
      if (mayExpire) uploads.begin(this.#record.name);
      const left = mayExpire ? times.uploadDeadline - passedBetween(since, await now()) : Number.POSITIVE_INFINITY;
      if (left <= 0) return ended({ reason: 'UploadMissing', message: 'no files were uploaded in time' });
      await pause(left, interrupted);
    }
    return undefined;
  }

  /** Why the unit cannot be prepared yet. */
  async #missing(): Promise<Live['problem']> {
    const { spec, uploaded, name } = this.#record;
    if (spec.secrets && (await this.#context.secrets.get(name)) === undefined)
      return { reason: 'SecretsMissing', message: 'waits for the values of secrets' };
    if (spec.upload && !uploaded) return { reason: 'UploadMissing', message: 'waits for uploaded files' };
    return undefined;
  }

  async #prepare(): Promise<Next | undefined> {
    const { drivers, resolve, now, signal } = this.#context;
    while (!signal.aborted) {
      const interrupted = this.#arm();
      if (this.#stop !== undefined) return this.#stopNow(this.#stop);
      if (this.#failed !== undefined) {
        await this.#retryLater(this.#failed, interrupted);
        this.#failed = undefined;
        continue;
      }
      // After a restart of the machine, only the control plane knows whether the program has been started elsewhere.
      if (!this.#isConfirmed) {
        this.#show({ step: 'waits for the control plane' });
        await pause(Number.POSITIVE_INFINITY, interrupted);
        continue;
      }
      if ((await this.#missing()) !== undefined) return { state: { phase: 'Waiting', since: await now() } };
      try {
        const driver = drivers.forStart(this.#record.spec);
        const room = await resolve(this.#record);
        await driver.prepare(room, { onStep: (step) => this.#show({ step }), signal: interrupted });
        this.#isPrepared = true;
        if (this.#record.spec.warm) return { state: { phase: 'Warm' } };
        this.#prepared = { driver, room };
        const since = await now();
        return { incarnation: await unusedIncarnation(driver, this.#record), state: { phase: 'Running', boot: since.boot, since } };
      } catch (error) {
        if (signal.aborted) return undefined;
        if (interrupted.aborted) continue;
        const problem = asProblem(error);
        if (problem.isFinal) return ended({ reason: problem.reason, message: problem.message });
        this.#failed = problem;
      }
    }
    return undefined;
  }

  /** Nothing of it ever runs, so there is nothing to find again after a restart. */
  async #stayWarm(): Promise<Next | undefined> {
    if (!this.#isPrepared && this.#stop === undefined) await this.#prepareAgain();
    while (this.#stop === undefined && !this.#context.signal.aborted) await pause(Number.POSITIVE_INFINITY, this.#arm());
    return this.#stop && ended(this.#stop);
  }

  /** Tells the driver, which an earlier agent has told before, to keep what it has prepared. The unit stays warm meanwhile: most of it is still there. */
  async #prepareAgain(): Promise<void> {
    const { drivers, resolve, log } = this.#context;
    try {
      const driver = drivers.forStart(this.#record.spec);
      await driver.prepare(await resolve(this.#record), { onStep: () => {}, signal: this.#arm() });
    } catch (error) {
      log(`the warm unit ${this.#record.name} could not be prepared again: ${asProblem(error).message}`);
    }
  }

  /** Waits after a problem, longer each time. */
  async #retryLater({ reason, message }: UnitProblem, interrupted: AbortSignal): Promise<void> {
    this.#show({ problem: { reason, message }, step: undefined });
    const { retryDelay, longestRestartDelay } = this.#context.times;
    await pause(Math.min(retryDelay * 2 ** Math.min(this.#retries++, 30), longestRestartDelay), interrupted);
  }

  async #keep(state: StateOf<'Running'>): Promise<Next | undefined> {
    const { drivers, guards, signal } = this.#context;
    const { name, spec } = this.#record;
    const starting = this.#starting;
    this.#starting = undefined;
    const driver = drivers.find(spec);
    if (driver === undefined) return this.#withoutDriver();
    if (starting !== undefined) {
      try {
        await starting;
        this.#begun.resolve();
        this.#retries = 0;
      } catch (error) {
        guards.disarm(this.#record);
        return this.#notStarted(error);
      }
    }
    const probing = new AbortController();
    this.#unhealthy = undefined;
    try {
      let isProbed = false;
      let wasSame = false;
      while (!signal.aborted) {
        const interrupted = this.#arm();
        if (this.#stop !== undefined) return { state: { phase: 'Stopping', ending: this.#stop, restart: false } };
        if (this.#unhealthy !== undefined) return this.#unwell(this.#unhealthy);
        const found = await driver.find(name, this.#incarnation);
        if (found !== undefined) this.#begun.resolve();
        if (found?.phase !== 'running') return await this.#over(driver, state, found);
        if (!isProbed) {
          const until = AbortSignal.any([signal, probing.signal]);
          const unguarded = await guards.keep(this.#record, found.pid, until).catch((error: unknown) => error);
          if (unguarded !== undefined && starting !== undefined) {
            await this.#untilDone(() => driver.stop(name, 0));
            return this.#notStarted(unguarded);
          }
          this.#probe(driver, found, until);
        }
        isProbed = true;
        // A driver that cannot wait must not keep the agent busy.
        if (wasSame) await pause(notTooOften, interrupted);
        await driver.changed(name, this.#incarnation, interrupted).catch(() => {});
        wasSame = !interrupted.aborted;
      }
      return undefined;
    } finally {
      probing.abort();
    }
  }

  #notStarted(error: unknown): Next {
    const problem = asProblem(error);
    this.#failed = problem;
    return problem.isFinal ? ended({ reason: problem.reason, message: problem.message }) : { state: { phase: 'Preparing' } };
  }

  /** An agent without the driver, such as one that is no longer root, can neither see nor end the program. */
  async #withoutDriver(): Promise<undefined> {
    const { drivers, signal } = this.#context;
    const message = `the program was started with the driver ${drivers.nameFor(this.#record.spec)}, which this agent does not have`;
    this.#show({ problem: { reason: 'DriverUnavailable', message } });
    await pause(Number.POSITIVE_INFINITY, signal);
  }

  #probe(driver: UnitDriver, room: NonNullable<Live['room']>, signal: AbortSignal): void {
    const { readiness } = this.#record.spec;
    this.#show({ room, ready: readiness === undefined, problem: undefined, step: undefined });
    const results: ProbeResults = {
      ready: (ready) => this.#live.ready === ready || this.#show({ ready }),
      unhealthy: (message) => {
        this.#unhealthy = message;
        this.wake();
      },
    };
    this.#context.probe({ record: this.#record, driver }, results, signal);
  }

  #unwell(message: string): Next {
    const ending: Ending = { reason: 'Unhealthy', message };
    return { state: { phase: 'Stopping', ending, restart: restarts(this.#record.spec, ending) } };
  }

  /** The program has ended by itself, or has vanished. */
  async #over(
    driver: UnitDriver,
    { boot }: StateOf<'Running'>,
    found: Exclude<RoomState, { phase: 'running' }> | undefined,
  ): Promise<Next> {
    const { name, spec } = this.#record;
    const { guards, contactAge } = this.#context;
    guards.disarm(this.#record);
    await this.#untilDone(() => driver.stop(name, 0));
    const isFenced = await guards.hasEnded(this.#record);
    const fenced = isFenced || wasForced(found) ? fencedEnding(spec, isFenced ? Number.POSITIVE_INFINITY : await contactAge()) : undefined;
    if (fenced !== undefined) return ended({ ...(await outcomeOf(driver, this.#record, found)), ...fenced });
    if (found?.phase === 'exited') {
      const ending = { ...(await outcomeOf(driver, this.#record, found)), reason: found.reason };
      return restarts(spec, ending) ? this.#again(ending) : ended(ending);
    }
    const now = await this.#context.now();
    const hasRestarted = boot !== now.boot;
    const why = found?.message ?? 'the agent ended before it could see whether the program had started';
    const ending: Ending = {
      reason: hasRestarted ? 'MachineRestarted' : 'Lost',
      message: hasRestarted ? 'the machine restarted while the program ran' : why,
      ...(await lastLinesOf(driver, this.#record)),
    };
    if (!restarts(spec, ending)) return { state: { phase: 'Lost', ending } };
    return this.#again(ending);
  }

  async #again(last: Ending): Promise<Next> {
    const { now, times } = this.#context;
    const { state, failures } = this.#record;
    const since = await now();
    const ran = state.phase === 'Running' ? passedBetween(state.since, since) : 0;
    return { failures: failuresAfter(failures, ran, times), state: { phase: 'Restarting', since, last } };
  }

  async #pause({ since, last }: StateOf<'Restarting'>): Promise<Next | undefined> {
    const { now, times, signal } = this.#context;
    const { failures } = this.#record;
    while (!signal.aborted) {
      const interrupted = this.#arm();
      if (this.#stop !== undefined) return ended({ ...last, ...this.#stop });
      const moment = await now();
      const delay = moment.boot === since.boot ? restartDelay(Math.max(0, failures - 1), times) : 0;
      const left = delay - passedBetween(since, moment);
      if (left <= 0) return { restarts: this.#record.restarts + 1, state: { phase: 'Preparing' } };
      await pause(left, interrupted);
    }
    return undefined;
  }

  async #end({ ending, restart }: StateOf<'Stopping'>): Promise<Next | undefined> {
    const { drivers, signal } = this.#context;
    const { name, spec } = this.#record;
    const driver = drivers.find(spec);
    if (driver === undefined) return this.#withoutDriver();
    await this.#untilDone(() => driver.stop(name, millisecondsIn(spec.stopGrace)));
    if (signal.aborted) return undefined;
    const found = await driver.find(name, this.#incarnation);
    const full = { ...(await outcomeOf(driver, this.#record, found)), ...ending };
    return restart && this.#stop === undefined ? this.#again(full) : ended({ ...full, ...this.#stop });
  }

  /** Drivers must not fail to end programs; if one does, it is asked again. */
  async #untilDone(end: () => Promise<void>): Promise<void> {
    const { signal, times } = this.#context;
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        return await end();
      } catch (error) {
        this.#show({ problem: { reason: asProblem(error).reason, message: `the program cannot be ended: ${asProblem(error).message}` } });
        await pause(Math.min(times.retryDelay * 2 ** Math.min(tries, 30), times.longestRestartDelay), signal);
      }
    }
  }

  #stopNow(ending: Ending): Next {
    return this.#incarnation < 0 ? ended(ending) : { state: { phase: 'Stopping', ending, restart: false } };
  }

  get #incarnation(): number {
    return this.#record.incarnation;
  }

  /** From now on, `wake` aborts the signal. */
  #arm(): AbortSignal {
    this.#interrupt = new AbortController();
    return AbortSignal.any([this.#interrupt.signal, this.#context.signal]);
  }

  async #enter(next: Next): Promise<void> {
    const from = this.#record.state.phase;
    if (!transitions[from].includes(next.state.phase)) throw new Error(`${next.state.phase} must not follow ${from}`);
    if (next.state.phase !== 'Running') {
      this.#forget(next.state.phase);
      return this.#change((record) => ({ ...record, ...next }), { isKept: !(from === 'Pending' && next.state.phase === 'Preparing') });
    }
    // No program starts without a record of it. Everything around it is made while the record gets to the disk.
    const { guards, signal } = this.#context;
    while (!signal.aborted && this.#prepared !== undefined) {
      const recorded = this.#changeForSure((record) => ({ ...record, ...next }));
      const starting = launch({ ...this.#record, ...next }, { ...this.#prepared, permitted: recorded }, this.#context);
      starting.catch(() => {});
      try {
        await recorded;
        this.#starting = starting;
        this.#prepared = undefined;
        return;
      } catch (error) {
        await starting.catch(() => {});
        guards.disarm(this.#record);
        await this.#retryLater(asProblem(error), this.#arm());
        if (this.#stop !== undefined) this.#prepared = undefined;
      }
    }
  }

  /** A change that counts although it may not get to the disk. The first preparation need not: a unit that is pending is prepared by the next agent as well. */
  #change(change: (record: UnitRecord) => UnitRecord, { isKept = true } = {}): Promise<void> {
    return this.#inTurn(async () => {
      this.#record = change(this.#record);
      this.#report();
      if (!isKept) return;
      await this.#context.records.write(this.#record).catch((error: unknown) => {
        this.#context.log(`the record of unit ${this.#record.name} cannot be written: ${asProblem(error).message}`);
      });
    });
  }

  /** A change that counts once it is on the disk. */
  #changeForSure(change: (record: UnitRecord) => UnitRecord): Promise<void> {
    return this.#inTurn(async () => {
      const record = change(this.#record);
      await this.#context.records.write(record);
      this.#record = record;
      this.#report();
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  /** The rest of what is known belongs to the state before. */
  #forget(phase: NodeUnitPhase): void {
    const { driver, room } = this.#live;
    this.#live = { ...(driver && { driver }), ...(phase === 'Stopping' && room && { room }) };
  }

  #show(change: { readonly [K in keyof Live]: Live[K] | undefined }): void {
    this.#live = { ...this.#live, ...change } as Live;
    this.#report();
  }

  #report(): void {
    const { status } = this;
    if (status !== undefined) this.#context.onStatus(this.#record, status);
  }
}

function ended(ending: Ending): Next {
  return { state: { phase: 'Ended', ending } };
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { millisecondsIn, type NodeTaskStatus } from '@capstan/api';
import { type ProcessDriver, ProcessExists } from '../processes/driver.ts';
import { type Moment, passedBetween } from '../time/moment.ts';
import { asFailure, errorStatus, TaskFailure } from './failure.ts';
import type { Journal, JournalEntry, JournalRecord } from './journal.ts';
import type { TaskOutput } from './output.ts';
import { Places } from './places.ts';
import { revealing, type TaskSecrets } from './secrets.ts';
import type { TaskContext, TaskOutcome, TaskRequest, TaskResult, TaskType } from './task-type.ts';

export interface EngineOptions {
  readonly journal: Pick<Journal, 'append' | 'records'>;
  readonly types: readonly TaskType[];
  readonly processes: ProcessDriver;
  readonly outputs: TaskOutput;
  /** The Secrets that tasks may name. By default there are none. */
  readonly secrets?: TaskSecrets;
  /** Stores the status of an attempt at the control plane. Repeats itself until that worked or the signal is aborted. */
  readonly report: (request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal) => Promise<void>;
  /**
   * Stores that an attempt begins, unless an agent on another machine with the same identity has begun it. Repeats itself like `report`. By default, nobody
   * else can.
   */
  readonly claim?: (request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal) => Promise<'claimed' | 'taken'>;
  /** The time, as the journal keeps it. */
  readonly now: () => Promise<Moment>;
  /** In milliseconds: how soon the journal is tried again when it cannot be written, such as on a full disk. */
  readonly journalRetry?: number;
  /** How many tasks run at once, besides one in the place of its own. */
  readonly concurrency?: number;
  readonly onError: (error: unknown) => void;
  /** Called before the output of a deleted task is deleted here. */
  readonly beforeRemoval?: (request: TaskRequest) => Promise<void>;
  /** Called once when an attempt begins, and once when it ends. */
  readonly onProgress?: (request: TaskRequest, status: NodeTaskStatus) => void;
}

/** In characters. */
const longestStep = 256;

interface Attempt {
  readonly request: TaskRequest;
  /** Marks the status as ours; undefined if this machine has lost its records of the attempt. */
  readonly claim: string | undefined;
  readonly abort: AbortController;
  readonly ended: PromiseWithResolvers<void>;
}

/**
 * Runs tasks, each attempt at most once. The journal has an attempt as running before its first effect, and the control plane knows it too; after a
 * crash, the type of the task decides how it goes on.
 */
export class TaskEngine implements AsyncDisposable {
  readonly #options: EngineOptions;
  readonly #types: ReadonlyMap<string, TaskType>;
  readonly #attempts = new Map<string, Attempt>();
  readonly #running = new Set<Promise<void>>();
  /** Ends with the agent; the processes of tasks go on. */
  readonly #stopped = new AbortController();
  readonly #places: Places;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#types = new Map(options.types.map((type) => [type.name, type]));
    this.#places = new Places(options.concurrency ?? 4);
  }

  /** Continues everything that the journal has and that has not ended. Call it once, before `accept`. */
  resume(): void {
    for (const [key, record] of this.#options.journal.records) if (record.outcome === undefined) this.#start(key, record);
  }

  /**
   * Takes an attempt, or cancels it. Doing so again changes nothing. Resolves when the attempt is in the journal. `wasStarted`: the control plane knows that it was
   * started; without a record of it, this machine has lost its state, and nobody knows how far it came.
   */
  async accept(request: TaskRequest, { wasStarted = false } = {}): Promise<void> {
    const key = keyOf(request);
    const { journal } = this.#options;
    const known = journal.records.get(key);
    if (known?.outcome !== undefined) return this.#repeat(request, known.outcome);
    if (known === undefined && !this.#attempts.has(key)) {
      const claim = wasStarted ? undefined : randomUUID();
      const attempt = this.#add(key, request, claim);
      try {
        const entry: JournalEntry = { state: 'accepted', key, request, ...(claim !== undefined && { claim }) };
        await this.#record(entry, attempt, attempt.abort.signal);
      } catch (error) {
        this.#attempts.delete(key);
        attempt.ended.resolve();
        throw error;
      }
      if (wasStarted) attempt.abort.abort(new TaskFailure('Interrupted', 'this node has lost its records of the task; check the node'));
      this.#launch(key, attempt, { request, ...(claim !== undefined && { claim }) });
    }
    if (request.spec.cancelled) this.cancel(key);
  }

  cancel(key: string): void {
    this.#attempts.get(key)?.abort.abort(new TaskFailure('Cancelled', 'cancelled'));
  }

  /** The tasks that the journal has. */
  uids(): ReadonlySet<string> {
    return new Set([...this.#options.journal.records.values()].map(({ request }) => request.uid));
  }

  /** Whether there is or was such an attempt. */
  knows(key: string): boolean {
    return this.#attempts.has(key) || this.#options.journal.records.has(key);
  }

  /** Whether an attempt has not ended. */
  isOpen(key: string): boolean {
    return this.#attempts.has(key);
  }

  /** The task was deleted: ends its attempts, and deletes their output. */
  async remove(uid: string): Promise<void> {
    const { journal, outputs, processes, beforeRemoval } = this.#options;
    const known = new Map<string, Pick<JournalRecord, 'request'>>(
      [...journal.records, ...this.#attempts].filter(([, { request }]) => request.uid === uid),
    );
    for (const [key, { request }] of known) {
      const attempt = this.#attempts.get(key);
      this.cancel(key);
      await attempt?.ended.promise;
      if (this.#stopped.signal.aborted) return;
      await beforeRemoval?.(request);
      await outputs.remove(key);
      if ((await processes.find(key)) !== undefined) await processes.forget(key);
      await journal.append({ state: 'forgotten', key });
    }
  }

  /** Leaves running processes alone: the next agent finds them again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled(this.#running);
  }

  /** The control plane may have missed how the attempt ended. */
  async #repeat(request: TaskRequest, outcome: TaskOutcome): Promise<void> {
    await this.#options.report(request, await this.#finalStatus(request, outcome), this.#stopped.signal);
  }

  #add(key: string, request: TaskRequest, claim: string | undefined): Attempt {
    const attempt = { request, claim, abort: new AbortController(), ended: Promise.withResolvers<void>() };
    this.#attempts.set(key, attempt);
    return attempt;
  }

  #start(key: string, record: JournalRecord): void {
    this.#launch(key, this.#add(key, record.request, record.claim), record);
  }

  #launch(key: string, attempt: Attempt, record: JournalRecord): void {
    const running = this.#run(key, attempt, record)
      .catch(this.#options.onError)
      .finally(() => {
        this.#attempts.delete(key);
        this.#running.delete(running);
        attempt.ended.resolve();
      });
    this.#running.add(running);
  }

  async #run(key: string, attempt: Attempt, record: JournalRecord): Promise<void> {
    const { report } = this.#options;
    const { request } = attempt;
    const outcome = await this.#outcome(key, attempt, record);
    // The agent is stopping: the next one continues.
    if (outcome === undefined) return;
    await this.#record({ state: 'done', key, outcome }, attempt, this.#stopped.signal);
    const status = await this.#finalStatus(request, outcome);
    this.#options.onProgress?.(request, status);
    await report(request, status, this.#stopped.signal);
  }

  async #outcome(key: string, attempt: Attempt, record: JournalRecord): Promise<TaskOutcome | undefined> {
    const type = this.#types.get(attempt.request.spec.type);
    try {
      if (type === undefined)
        throw new TaskFailure('UnknownType', `this agent has no tasks of type ${attempt.request.spec.type}; upgrade the agent`);
      if (record.since !== undefined && type.afterCrash === 'ask')
        throw new TaskFailure('Interrupted', 'the agent ended while the task ran; check the node, then raise spec.attempt to run it again');
      using _place = await this.#place(type, attempt, record);
      return await this.#perform(type, { key, attempt, record });
    } catch (error) {
      if (this.#stopped.signal.aborted) return undefined;
      return failed(asFailure(error), await this.#wallTime());
    }
  }

  /** Waits for its turn. The status says what it waits for. */
  async #place(type: TaskType, attempt: Attempt, { since }: JournalRecord): Promise<Disposable> {
    const { exclusive, hasOwnPlace } = type;
    const { request, abort } = attempt;
    const signal = AbortSignal.any([abort.signal, this.#stopped.signal]);
    const status = since === undefined ? this.#statusBefore(attempt) : this.#statusNow(attempt, since);
    let hasWaited = false;
    const place = await this.#places.take({ name: request.name, exclusive, hasOwnPlace }, signal, (why) => {
      hasWaited = true;
      this.#reportSoon(request, { ...status, step: why.slice(0, longestStep) }, signal);
    });
    if (hasWaited && since !== undefined) this.#reportSoon(request, status, signal);
    return place;
  }

  /** Reports something that nothing waits for. */
  #reportSoon(request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal): void {
    this.#options.report(request, status, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#options.onError(error);
    });
  }

  async #perform(
    type: TaskType,
    { key, attempt, record }: { readonly key: string; readonly attempt: Attempt; readonly record: JournalRecord },
  ): Promise<TaskOutcome> {
    const { request, abort } = attempt;
    const parameters = request.spec[type.field];
    if (parameters === undefined) throw new TaskFailure('InvalidParameters', `spec.${type.field} is missing`);
    const since = record.since ?? (await this.#options.now());
    using deadline = await this.#deadline(request, since, abort);
    const context = this.#context(key, attempt, since);
    abort.signal.throwIfAborted();
    if (record.since === undefined || type.afterCrash === 'rerun') {
      if (await orAborted(type.check(parameters as never, context), deadline.signal))
        return { ...succeeded(await this.#wallTime()), skipped: true };
      abort.signal.throwIfAborted();
    }
    if (record.since === undefined) {
      const status = this.#statusNow(attempt, since);
      const signal = AbortSignal.any([abort.signal, this.#stopped.signal]);
      if ((await this.#claim(request, status, signal)) === 'taken')
        throw new TaskFailure('Interrupted', 'another machine with the identity of this node has begun the task');
      this.#options.onProgress?.(request, status);
      await this.#record({ state: 'running', key, since }, attempt, signal);
    }
    const result = await untilAborted(type.run(parameters as never, context), deadline.signal);
    return { ...succeeded(await this.#wallTime()), ...result };
  }

  async #claim(request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal): Promise<'claimed' | 'taken'> {
    const { claim, report } = this.#options;
    if (claim !== undefined) return claim(request, status, signal);
    await report(request, status, signal);
    return 'claimed';
  }

  /** Appends to the journal. If that fails, the status says why, and it is tried again until it works or the signal aborts. */
  async #record(entry: JournalEntry, attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { journal, journalRetry = 5_000, report, onError } = this.#options;
    const either = AbortSignal.any([signal, this.#stopped.signal]);
    for (let tries = 0; ; tries++) {
      try {
        return await journal.append(entry);
      } catch (error) {
        if (tries === 0) {
          onError(error);
          const step = `waiting, because the node cannot write its journal: ${error instanceof Error ? error.message : String(error)}`;
          const since = entry.state === 'running' ? entry.since : journal.records.get(entry.key)?.since;
          const status = since === undefined ? this.#statusBefore(attempt) : this.#statusNow(attempt, since);
          report(attempt.request, { ...status, step: step.slice(0, longestStep) }, either).catch(() => {});
        }
        await sleep(journalRetry, undefined, { signal: either }).catch(() => either.throwIfAborted());
      }
    }
  }

  #context(key: string, attempt: Attempt, since: Moment): TaskContext {
    const { request, abort } = attempt;
    const { processes, outputs, secrets = noSecrets } = this.#options;
    const { secret } = request.spec;
    const signal = AbortSignal.any([abort.signal, this.#stopped.signal]);
    return {
      id: key,
      signal,
      processes,
      step: (step) => this.#reportSoon(request, { ...this.#statusNow(attempt, since), step: step.slice(0, longestStep) }, signal),
      print: (text) => outputs.append(key, text),
      outputIn: (file) => outputs.redirect(key, file),
      reveal: revealing(secret, () => secrets.read(secret ?? '', signal)),
    };
  }

  #statusBefore({ request: { attempt } }: Attempt): NodeTaskStatus {
    return { phase: 'Pending', attempt };
  }

  #statusNow({ request: { attempt }, claim }: Attempt, since: Moment): NodeTaskStatus {
    return { phase: 'Running', attempt, startedAt: new Date(since.wall).toISOString(), ...(claim !== undefined && { claim }) };
  }

  async #finalStatus(request: TaskRequest, outcome: TaskOutcome): Promise<NodeTaskStatus> {
    const key = keyOf(request);
    const { since, claim } = this.#options.journal.records.get(key) ?? {};
    const output = await this.#options.outputs.size(key);
    return {
      attempt: request.attempt,
      ...(claim !== undefined && { claim }),
      ...(since && { startedAt: new Date(since.wall).toISOString() }),
      ...outcome,
      ...(output && { output }),
    };
  }

  /** Aborts the attempt when its time is over. Time goes on while the agent is not running, and clocks that jump change nothing. */
  async #deadline(request: TaskRequest, since: Moment, abort: AbortController): Promise<Disposable & { readonly signal: AbortSignal }> {
    const now = await this.#options.now();
    const passed = passedBetween(since, now);
    const limit = millisecondsIn(request.spec.deadline);
    const give = (): void => abort.abort(new TaskFailure('DeadlineExceeded', `not done within ${request.spec.deadline}`));
    const timer = setTimeout(give, Math.min(Math.max(0, limit - passed), 2 ** 31 - 1));
    return { signal: AbortSignal.any([abort.signal, this.#stopped.signal]), [Symbol.dispose]: () => clearTimeout(timer) };
  }

  async #wallTime(): Promise<string> {
    return new Date((await this.#options.now()).wall).toISOString();
  }
}

const noSecrets: TaskSecrets = {
  read: async (name) => {
    throw new TaskFailure('UnknownSecret', `this agent has no access to the Secret ${name}`);
  },
};

/** Names an attempt, also as a process: a uid and a number. */
export const keyOf = ({ uid, attempt }: Pick<TaskRequest, 'uid' | 'attempt'>): string => `task-${uid}-${attempt}`;

/** Whether the id of a process is that of an attempt. */
export const isTaskKey = (id: string): boolean => id.startsWith('task-');

function succeeded(finishedAt: string): TaskOutcome {
  return { phase: 'Succeeded', finishedAt };
}

function failed(failure: TaskFailure, finishedAt: string): TaskOutcome {
  const phases: Readonly<Record<string, TaskOutcome['phase']>> = { Cancelled: 'Cancelled', Interrupted: 'Unknown' };
  const { exitCode, report } = failure;
  return {
    phase: phases[failure.code] ?? 'Failed',
    finishedAt,
    error: errorStatus(failure),
    ...(exitCode !== undefined && { exitCode }),
    ...(report && { report }),
  };
}

/** A type that ignores its signal does not hold up the others. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  const given = Promise.withResolvers<never>();
  const abort = (): void => given.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, given.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The same for the work itself, which may have processes to end. */
async function untilAborted(work: Promise<TaskResult>, signal: AbortSignal): Promise<TaskResult> {
  try {
    return await orAborted(work, signal);
  } catch (error) {
    // Tasks end their processes before they reject, which takes a moment, and may say more about that.
    const last = signal.aborted ? await Promise.race([work.catch((reason: unknown) => reason), longestKill()]) : undefined;
    if (last instanceof TaskFailure && last.code === (signal.reason as Partial<TaskFailure> | undefined)?.code) throw last;
    throw error instanceof ProcessExists ? new TaskFailure('Interrupted', error.message, { cause: error }) : error;
  }
}

/** In milliseconds, how long a task may take to end its processes. */
const killTime = 30_000;
const longestKill = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, killTime).unref());

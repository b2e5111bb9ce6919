import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { millisecondsIn } from '@capstan/api';
import { startTime } from '../../processes/proc.ts';
import { UnitProblem, unitMarker } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';
import { guardProgram } from './program.ts';

/** See to it that units with `fenceAfter` end on a node that is cut off, also without the agent. */
export interface UnitGuards {
  /** Starts the guard of a program that is about to start. Rejects with a UnitProblem: then the program must not start. */
  arm(record: UnitRecord): Promise<void>;
  /** The program did not start. */
  disarm(record: UnitRecord): void;
  /** Resolves when a guard watches the process, and starts another one whenever there is none, until the signal aborts. Rejects with a UnitProblem if there is none yet. */
  keep(record: UnitRecord, pid: number, signal: AbortSignal): Promise<void>;
  /** Whether a guard has ended the present incarnation. */
  hasEnded(record: UnitRecord): Promise<boolean>;
}

export interface GuardsOptions {
  /** The file with the last contact. */
  readonly contact: string;
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
  /** In milliseconds: how long after the time at which the agent ends a unit its guard does it, and between two looks. */
  readonly times: { readonly guardMargin: number; readonly guardInterval: number };
  /** Cgroups for processes that must outlive the agent. */
  readonly groups: readonly string[];
  readonly perl?: string;
  /** In milliseconds, until a guard that was started must say that it watches: 10 seconds when absent. */
  readonly longestStart?: number;
  readonly log: (line: string) => void;
}

type Guard = ChildProcessByStdio<Writable, Readable, null>;

/** Guards are processes of their own: they go on when the agent is killed, hangs or is suspended. */
export class GuardProcesses implements UnitGuards {
  readonly #options: GuardsOptions;
  readonly #longestStart: number;
  readonly #armed = new Map<string, Guard>();

  constructor(options: GuardsOptions) {
    this.#options = options;
    this.#longestStart = options.longestStart ?? 10_000;
  }

  async arm(record: UnitRecord): Promise<void> {
    if (record.spec.fenceAfter === undefined) return;
    this.disarm(record);
    this.#armed.set(record.name, await this.#start(record));
  }

  disarm({ name }: UnitRecord): void {
    this.#armed.get(name)?.kill('SIGKILL');
    this.#armed.delete(name);
  }

  async keep(record: UnitRecord, pid: number, signal: AbortSignal): Promise<void> {
    if (record.spec.fenceAfter === undefined) return;
    const start = await startTime(pid);
    // It has ended already.
    if (start === undefined) return this.disarm(record);
    const target = `${pid} ${start}`;
    const first = await this.#ensure(record, target).catch((error: unknown) => error);
    this.#repeat(record, target, signal).catch(() => {});
    if (first !== undefined) throw first;
  }

  async hasEnded({ name, incarnation, spec }: UnitRecord): Promise<boolean> {
    if (spec.fenceAfter === undefined) return false;
    return (await readFile(join(this.#options.folder(name), 'fenced'), 'utf8').catch(() => '')) === String(incarnation);
  }

  async #repeat(record: UnitRecord, target: string, signal: AbortSignal): Promise<void> {
    const { times, log } = this.#options;
    for (;;) {
      await sleep(times.guardInterval, undefined, { signal });
      await this.#ensure(record, target).catch((error: Error) => log(`unit ${record.name} has no guard: ${error.message}`));
    }
  }

  async #ensure(record: UnitRecord, target: string): Promise<void> {
    const armed = this.#armed.get(record.name);
    this.#armed.delete(record.name);
    if (armed === undefined && ((await this.#isWatched(record.name, target)) || !(await isAlive(target)))) return;
    const guard = armed !== undefined && isRunning(armed) ? armed : await this.#start(record);
    guard.stdin.end(`${target}\n`);
    const until = performance.now() + this.#longestStart;
    while (isRunning(guard) && performance.now() < until) {
      if (await this.#isWatched(record.name, target)) return;
      await sleep(5);
    }
    guard.kill('SIGKILL');
    // A guard ends with its program.
    if (await isAlive(target)) throw problem('it does not say that it watches');
  }

  async #isWatched(name: string, target: string): Promise<boolean> {
    const text = await readFile(join(this.#options.folder(name), 'guard'), 'utf8').catch(() => '');
    const [pid = '', start, ...watched] = text.split(' ');
    return watched.join(' ') === target && (await isAlive(`${pid} ${start}`));
  }

  /** Resolves when the guard has looked at the contact. */
  async #start(record: UnitRecord): Promise<Guard> {
    const { perl = '/usr/bin/perl', groups } = this.#options;
    const child = spawn(perl, ['-e', guardProgram, '--', ...this.#argumentsFor(record), ...groups], {
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      cwd: '/',
      env: {},
    });
    child.unref();
    for (const stream of [child.stdin, child.stdout]) {
      stream.on('error', () => {});
      (stream as { unref?: () => void }).unref?.();
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#longestStart);
    const answer = await new Promise<string>((resolve, reject) => {
      child.once('error', (error) => reject(problem(error.message)));
      child.stdout
        .setEncoding('utf8')
        .once('data', resolve)
        .once('end', () => resolve('it ended at once'));
    }).finally(() => clearTimeout(timer));
    child.stdout.resume();
    if (answer !== 'watching\n') throw problem(answer === 'cut off\n' ? 'the node cannot reach the control plane' : answer);
    return child;
  }

  #argumentsFor({ name, incarnation, spec }: UnitRecord): string[] {
    const { contact, folder, times } = this.#options;
    const limit = millisecondsIn(spec.fenceAfter!) + millisecondsIn(spec.stopGrace) + times.guardMargin;
    return [contact, folder(name), incarnation, `${unitMarker}=${name}`, limit, times.guardInterval / 1_000].map(String);
  }
}

/** Whether a process lives, by its id and its start time. */
async function isAlive(process: string): Promise<boolean> {
  const [pid, start] = process.split(' ');
  return (await startTime(Number(pid))) === start;
}

function isRunning({ exitCode, signalCode }: Guard): boolean {
  return exitCode === null && signalCode === null;
}

function problem(why: string): UnitProblem {
  return new UnitProblem('DriverUnavailable', `the guard that ends the unit when the node is cut off cannot be started: ${why}`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessExists, ProcessesRemain } from '../processes/driver.ts';
import { TaskFailure } from './failure.ts';
import { findingsIn } from './findings.ts';
import type { TaskContext, TaskResult } from './task-type.ts';

export interface ProcessOptions {
  readonly command: readonly [program: string, ...args: string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /** The exit codes of success. By default, 0. */
  readonly success?: readonly number[];
  /** Whether the output may contain findings. */
  readonly hasFindings?: boolean;
}

type OneProcess = Pick<TaskContext, 'id' | 'processes' | 'signal'>;

/** In milliseconds, between two looks at a process, and how long one may take to end. */
const interval = 50;
const grace = 10_000;
const lastWords = 1_000;
const outputLimit = 64 << 20;

/**
 * Runs the process of a task, or finds the one that an agent before this one started. Ends it, with everything that it started, when the task is
 * cancelled or its time is over; leaves it alone when the agent stops.
 */
export async function runProcess(context: TaskContext, options: ProcessOptions): Promise<TaskResult> {
  const { command, environment = {}, success = [0], hasFindings = false } = options;
  const { id, processes, signal } = context;
  try {
    await processes.start({ id, command, environment, outputLimit });
  } catch (error) {
    if (!(error instanceof ProcessExists)) throw error;
  }
  const { file } = await processes.output(id);
  context.outputIn(file);
  const code = await exitCode(context).catch(async (error: unknown) => {
    const { reason } = signal;
    if (!(reason instanceof TaskFailure)) throw error;
    const ending = await processes.kill(id, grace).catch((problem: unknown) => {
      if (problem instanceof ProcessesRemain) throw new TaskFailure(reason.code, `${reason.message}; ${problem.message}`);
      throw problem;
    });
    if (ending === 'ended') throw error;
    throw new TaskFailure(reason.code, `${reason.message}; it ignored SIGTERM and was killed after ${grace / 1000} s`);
  });
  await outputComplete(context);
  const report = hasFindings ? await findingsIn(file) : [];
  const result = { exitCode: code, ...(report.length > 0 && { report }) };
  if (!success.includes(code))
    throw new TaskFailure('CommandFailed', `${command[0]} ended with exit code ${code}; its output says more`, result);
  return result;
}

/** The last output may arrive after the exit code. What a process in the background still has open is not waited for. */
export async function outputComplete({ id, processes, signal }: OneProcess): Promise<void> {
  for (let waited = 0; waited < lastWords && !signal.aborted; waited += interval) {
    if ((await processes.output(id)).complete) return;
    await sleep(interval);
  }
}

/** Waits for the end of a process. */
export async function exitCode({ id, processes, signal }: OneProcess): Promise<number> {
  for (;;) {
    const state = await processes.find(id);
    if (state?.phase === 'exited') return state.code;
    if (state?.phase !== 'running')
      throw new TaskFailure('Interrupted', `nobody knows how far the process came: ${state?.reason ?? 'it has no record'}`);
    await sleep(interval, undefined, { signal });
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff } from '@capstan/machinery';
import { exitCodes } from '../failure.ts';
import { eachLine } from './lines.ts';

export interface ProcessDescription {
  /** The prefix of each of its lines. */
  readonly name: string;
  readonly args: readonly string[];
}

/** Sent by a supervised process to its supervisor. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly url: string;
  readonly kubeconfigPath: string;
}

export interface SupervisorOptions {
  readonly program: string;
  readonly write: (line: string) => void;
  /** Logs a line that the process printed. */
  readonly writeChild: (line: string) => void;
  readonly onReady: (name: string, message: ReadyMessage) => void;
  readonly signal: AbortSignal;
  /** How long processes may take to end before they are killed, in milliseconds. */
  readonly grace: number;
}

const backoffLimits = { base: 200, max: 10_000 };
/** In milliseconds: a process that ran this long restarts as if it had never failed. */
const healthyAfter = 30_000;

/** Exit codes that a restart cannot fix: the user must change something first. */
const lastingCodes: ReadonlySet<number> = new Set(
  Object.entries(exitCodes).flatMap(([reason, code]) => (reason === 'unexpected' || reason === 'etcdUnreachable' ? [] : [code])),
);

/** By default the C library keeps a mostly empty heap for each thread and never frees it: 30 MB in two processes that do little. */
const fewArenas = { MALLOC_ARENA_MAX: '2' };

/**
 * Keeps one process running until the signal is aborted: restarts it, with growing waits, whenever it ends. Resolves with the exit code for
 * the whole program: 0 after an abort, or that of a process that could not start for a lasting reason.
 */
export async function supervise(description: ProcessDescription, options: SupervisorOptions): Promise<number> {
  const backoff = new Backoff(backoffLimits);
  const { signal, write } = options;
  let everReady = false;
  while (!signal.aborted) {
    const began = performance.now();
    const code = await runOnce(description, {
      ...options,
      onReady: (name, message) => {
        everReady = true;
        options.onReady(name, message);
      },
    });
    if (signal.aborted) break;
    if (!everReady && typeof code === 'number' && lastingCodes.has(code)) return code;
    if (performance.now() - began >= healthyAfter) backoff.reset();
    const wait = backoff.next();
    write(`${description.name} ended (${typeof code === 'number' ? `exit code ${code}` : code}), restarting it in ${wait} ms`);
    await sleep(wait, undefined, { signal }).catch(() => {});
  }
  return 0;
}

async function runOnce({ name, args }: ProcessDescription, options: SupervisorOptions): Promise<number | string> {
  const { signal, writeChild, program } = options;
  // The closing channel tells the child that its supervisor has died, for whatever reason. Detached, it does not receive the terminal's
  // Ctrl-C: the supervisor decides the order in which processes end.
  const child = spawn(process.execPath, [program, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...fewArenas, ...process.env },
  });
  if (child.stdout !== null) eachLine(child.stdout, writeChild);
  if (child.stderr !== null) eachLine(child.stderr, writeChild);
  child.on('message', (message: ReadyMessage) => {
    if (message.type === 'ready') options.onReady(name, message);
  });
  const ended = new Promise<number | string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, killedBy) => resolve(code ?? killedBy ?? 'unknown'));
  });
  const stop = (): void => endGently(child, options.grace);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await ended;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function endGently(child: ChildProcess, grace: number): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), grace).unref();
}

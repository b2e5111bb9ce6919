import { type ChildProcess, spawn } from 'node:child_process';
import type { Command, HealthCheck, Port, ReadyMessage } from './description.ts';
import { eachLine } from './lines.ts';
import { untilListening } from './ports.ts';
import { endWithThisProcess } from './watchdog.ts';

/** How a process ended. */
export type Ending =
  | { readonly type: 'exit'; readonly code: number; readonly lastLine: string }
  | { readonly type: 'signal'; readonly signal: string; readonly lastLine: string }
  /** The program does not exist or cannot be run. */
  | { readonly type: 'not started'; readonly message: string };

export interface Readiness {
  readonly ports: readonly Port[];
  readonly health?: HealthCheck;
  /** From processes of this program. */
  readonly message?: ReadyMessage;
}

export interface ChildOptions {
  /** This program, for commands of type `own`. */
  readonly program: string;
  /** Logs a line that the process printed. */
  readonly writeChild: (line: string) => void;
  readonly onStarted: (pid: number) => void;
  readonly onReady: (readiness: Readiness) => void;
  readonly signal: AbortSignal;
  /** How long the process may take to end before it is killed, in milliseconds. */
  readonly grace: number;
}

/** By default the C library keeps a mostly empty heap for each thread and never frees it: 30 MB in two processes that do little. */
const fewArenas = { MALLOC_ARENA_MAX: '2' };

/** Runs a process once, and ends it with the signal. */
export async function runChild(command: Command, options: ChildOptions): Promise<Ending> {
  const { signal, writeChild, onStarted, onReady } = options;
  const child = start(command, options.program);
  const over = new AbortController();
  let lastLine = '';
  if (child.stdout !== null) eachLine(child.stdout, writeChild);
  if (child.stderr !== null)
    eachLine(child.stderr, (line) => {
      if (line.trim() !== '') lastLine = line;
      writeChild(line);
    });
  const ended = new Promise<Ending>((resolve) => {
    child.on('error', ({ message }) => {
      // Also emitted if a signal could not be sent.
      if (child.pid === undefined) resolve({ type: 'not started', message });
    });
    child.on('close', (code, killedBy) =>
      resolve(code === null ? { type: 'signal', signal: killedBy ?? 'unknown', lastLine } : { type: 'exit', code, lastLine }),
    );
  });
  if (child.pid !== undefined) onStarted(child.pid);
  const stop = (): void => endGently(child, options.grace);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  using _watchdog = command.type === 'foreign' && child.pid !== undefined ? endWithThisProcess(child.pid) : undefined;
  watchReadiness(child, command, { onReady, signal: AbortSignal.any([signal, over.signal]) });
  try {
    return await ended;
  } finally {
    over.abort();
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Detached, a child does not receive the terminal's Ctrl-C: the supervisor decides the order in which processes end. The closing channel tells
 * a process of this program that its supervisor has died, for whatever reason.
 */
function start(command: Command, program: string): ChildProcess {
  return command.type === 'own'
    ? spawn(process.execPath, [program, ...command.args], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: { ...fewArenas, ...process.env },
      })
    : spawn(command.program, [...command.args], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...command.environment },
      });
}

function watchReadiness(
  child: ChildProcess,
  command: Command,
  { onReady, signal }: { readonly onReady: (readiness: Readiness) => void; readonly signal: AbortSignal },
): void {
  if (command.type === 'own') {
    child.on('message', (message: ReadyMessage) => {
      if (message.type === 'ready') onReady({ ports: message.ports, ...(message.health && { health: message.health }), message });
    });
    return;
  }
  if (child.pid === undefined) return;
  const { ports = [], health } = command;
  void untilListening(ports, signal).then(() => {
    if (!signal.aborted) onReady({ ports, ...(health && { health }) });
  });
}

function endGently(child: ChildProcess, grace: number): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), grace).unref();
}

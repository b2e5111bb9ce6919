import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Command, HealthCheck, Port, ReadyMessage } from './description.ts';
import { eachLine } from './lines.ts';
import { watchLiveness } from './liveness.ts';
import { untilListening } from './ports.ts';
import type { SilenceLimits } from './silence.ts';
import { endWithThisProcess } from './watchdog.ts';

/** How a process ended. */
export type Ending =
  | { readonly type: 'exit'; readonly code: number; readonly lastLine: string }
  | { readonly type: 'signal'; readonly signal: string; readonly lastLine: string }
  /** It did not answer for this long, in milliseconds, and was killed. `marker` is what it was doing, if that is known. */
  | { readonly type: 'hung'; readonly silent: number; readonly marker: string | undefined }
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
  readonly silence?: SilenceLimits | undefined;
  /** Called before a process that hangs is killed. May return what the process was doing, from a marker that it left. */
  readonly beforeKill?: ((pid: number) => string | undefined) | undefined;
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
  let hung: Ending | undefined;
  const ended = new Promise<Ending>((resolve) => {
    child.on('error', ({ message }) => {
      // Also emitted if a signal could not be sent.
      if (child.pid === undefined) resolve({ type: 'not started', message });
    });
    child.on('close', (code, killedBy) =>
      resolve(hung ?? (code === null ? { type: 'signal', signal: killedBy ?? 'unknown', lastLine } : { type: 'exit', code, lastLine })),
    );
  });
  if (child.pid !== undefined) onStarted(child.pid);
  const stop = (): void => endGently(child, options.grace);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  using stack = new DisposableStack();
  if (child.pid !== undefined) stack.use(watchdogOf(child, command, options));
  const onHang = (silent: number): void => {
    hung = { type: 'hung', silent, marker: options.beforeKill?.(child.pid!) };
    child.kill('SIGKILL');
  };
  const onceReady = (readiness: Readiness): void => {
    if (command.type === 'own' && !stack.disposed) stack.use(watchLiveness(child, { limits: options.silence, onHang }));
    onReady(readiness);
  };
  watchReadiness(child, command, { onReady: onceReady, signal: AbortSignal.any([signal, over.signal]) });
  try {
    return await ended;
  } finally {
    over.abort();
    signal.removeEventListener('abort', stop);
  }
}

/** Processes of this program notice that their supervisor has died, unless they hang. */
function watchdogOf(child: ChildProcess, command: Command, { grace }: ChildOptions): Disposable {
  const life = child.stdio[command.type === 'own' ? ownLife : foreignLife]! as Readable;
  life.on('error', () => {});
  const watchdog = endWithThisProcess({ pid: child.pid!, life, grace, ...(command.type === 'foreign' && { firstSignal: 'SIGTERM' }) });
  // The shell has its own copy now.
  life.destroy();
  return watchdog;
}

/** The descriptors of the stream that ends with the process. */
const ownLife = 4;
const foreignLife = 3;

/** Of this process, which `bin/capstan` has chosen. Others, such as those of a debugger, are for this process alone. */
const heapOptions = process.execArgv.filter((option) => option.startsWith('--max-semi-space-size'));

/**
 * Detached, a child does not receive the terminal's Ctrl-C: the supervisor decides the order in which processes end. The closing channel tells
 * a process of this program that its supervisor has died, for whatever reason.
 */
function start(command: Command, program: string): ChildProcess {
  return command.type === 'own'
    ? spawn(process.execPath, [...heapOptions, program, ...command.args], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
        env: { ...fewArenas, ...process.env },
      })
    : spawn(command.program, [...command.args], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
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

import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffLimits } from '@capstan/machinery';
import { exitCodes } from '../failure.ts';
import { type ChildOptions, type Ending, type Readiness, runChild } from './child.ts';
import type { ProcessDescription } from './description.ts';
import type { ProcessStates } from './states.ts';

export interface SupervisorOptions extends Pick<ChildOptions, 'program' | 'signal' | 'grace' | 'writeChild' | 'silence' | 'beforeKill'> {
  readonly write: (line: string) => void;
  readonly onReady: (readiness: Readiness) => void;
  readonly states: ProcessStates;
  /** The waits between restarts. */
  readonly backoff?: BackoffLimits;
}

const requiredBackoff: BackoffLimits = { base: 200, max: 10_000 };
/** The others serve without it, so there is no hurry. */
const optionalBackoff: BackoffLimits = { base: 200, max: 60_000 };
/** In milliseconds: a process that ran this long restarts as if it had never failed. */
const healthyAfter = 30_000;

/** Exit codes of this program that a restart cannot fix: the user must change something first. */
const lastingCodes: ReadonlySet<number> = new Set(
  Object.entries(exitCodes).flatMap(([reason, code]) => (reason === 'unexpected' || reason === 'etcdUnreachable' ? [] : [code])),
);

/**
 * Keeps one process running until the signal is aborted: restarts it, with growing waits, whenever it ends. Resolves with the exit code for
 * the whole program: 0 after an abort, or that of a required process that could not start for a lasting reason.
 */
export async function supervise(description: ProcessDescription, options: SupervisorOptions): Promise<number> {
  const { name, optional = false } = description;
  const { signal, write, states } = options;
  const backoff = new Backoff(options.backoff ?? (optional ? optionalBackoff : requiredBackoff));
  let everReady = false;
  while (!signal.aborted) {
    const began = performance.now();
    const ending = await attempt(description, {
      ...options,
      onReady: (readiness) => {
        everReady = true;
        options.onReady(readiness);
      },
    });
    if (signal.aborted) break;
    const code = everReady || optional ? undefined : lastingCode(ending, description);
    if (code !== undefined) {
      if (ending.type === 'not started') write(`${name} cannot start: ${ending.message}`);
      states.set(name, { phase: 'stopped' });
      return code;
    }
    if (performance.now() - began >= healthyAfter) backoff.reset();
    const wait = backoff.next();
    const now = new Date();
    states.failed(name, { message: fullText(ending), now, at: new Date(now.getTime() + wait) });
    write(`${name} ended (${ending.type === 'hung' ? fullText(ending) : shortText(ending)}), restarting it in ${wait} ms`);
    await sleep(wait, undefined, { signal }).catch(() => {});
  }
  states.set(name, { phase: 'stopped' });
  return 0;
}

function attempt({ name, command }: ProcessDescription, options: SupervisorOptions): Promise<Ending> {
  const { states, program, signal, grace, writeChild, silence, beforeKill } = options;
  const startedAt = new Date().toISOString();
  let pid = 0;
  return runChild(command, {
    program,
    signal,
    grace,
    writeChild,
    silence,
    beforeKill,
    onStarted: (id) => {
      pid = id;
      states.set(name, { phase: 'starting', pid, startedAt });
    },
    onReady: (readiness) => {
      const { ports, health } = readiness;
      states.set(name, { phase: 'ready', pid, startedAt, ports, ...(health && { health }) });
      options.onReady(readiness);
    },
  });
}

function lastingCode(ending: Ending, { command }: ProcessDescription): number | undefined {
  if (ending.type === 'not started') return exitCodes.unexpected;
  // The codes of other programs mean something else.
  return command.type === 'own' && ending.type === 'exit' && lastingCodes.has(ending.code) ? ending.code : undefined;
}

function shortText(ending: Ending): string {
  if (ending.type === 'not started') return ending.message;
  if (ending.type === 'hung') return `it did not answer for ${Math.round(ending.silent / 1000)} s, and was killed`;
  return ending.type === 'exit' ? `exit code ${ending.code}` : ending.signal;
}

function fullText(ending: Ending): string {
  if (ending.type === 'hung') return ending.marker === undefined ? shortText(ending) : `${shortText(ending)}: ${ending.marker}`;
  if (ending.type === 'not started' || ending.lastLine === '') return shortText(ending);
  return `${shortText(ending)}: ${ending.lastLine.replace(/^capstan: /, '')}`;
}

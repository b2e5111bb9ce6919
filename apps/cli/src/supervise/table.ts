import type { Readiness } from './child.ts';
import type { ProcessDescription } from './description.ts';
import type { ProcessStates } from './states.ts';
import { type SupervisorOptions, supervise } from './supervisor.ts';

export interface TableOptions extends Pick<SupervisorOptions, 'program' | 'write' | 'grace' | 'backoff' | 'silence'> {
  readonly states: ProcessStates;
  /** Logs a line that a process printed. */
  readonly writeChild: (name: string) => (line: string) => void;
  readonly onReady: (name: string, readiness: Readiness) => void;
  /** Called before a process that hangs is killed. May return what the process was doing, from a marker that it left. */
  readonly beforeKill?: (name: string, pid: number) => string | undefined;
  readonly signal: AbortSignal;
}

interface Member {
  readonly description: ProcessDescription;
  readonly ready: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<void>;
  /** Aborted when no process needs it any more. */
  readonly stop: AbortController;
}

/**
 * Keeps all processes of a table running until the signal is aborted. Each starts once those that it needs are ready, restarts on its own, and
 * ends before those that it needs. A required process that can never start ends everything: half a Capstan would only hide the problem.
 * Resolves with the exit code.
 */
export async function superviseAll(table: readonly ProcessDescription[], options: TableOptions): Promise<number> {
  const members = membersOf(table);
  const { states } = options;
  for (const { name, optional = false } of table) states.add({ name, optional });
  const failed = new AbortController();
  const stop = AbortSignal.any([options.signal, failed.signal]);
  const stopAll = (): void => {
    for (const member of members.values()) {
      const dependents = [...members.values()].filter(({ description }) => description.needs?.includes(member.description.name));
      void Promise.all(dependents.map(({ ended }) => ended.promise)).then(() => member.stop.abort());
    }
  };
  stop.addEventListener('abort', stopAll, { once: true });
  if (stop.aborted) stopAll();
  const codes = await Promise.all(
    [...members.values()].map(async (member) => {
      await needsReady(member, { members, stop, states });
      const code = stop.aborted ? 0 : await keep(member, options);
      if (code !== 0) failed.abort();
      member.ended.resolve();
      return code;
    }),
  );
  return Math.max(0, ...codes);
}

function membersOf(table: readonly ProcessDescription[]): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const description of table) {
    const { name, needs = [] } = description;
    if (members.has(name)) throw new Error(`there are two processes "${name}" in the table; names must differ`);
    const missing = needs.filter((need) => !members.has(need));
    if (missing.length > 0) throw new Error(`process "${name}" needs ${missing.join(', ')}, which must come before it in the table`);
    members.set(name, { description, ready: Promise.withResolvers(), ended: Promise.withResolvers(), stop: new AbortController() });
  }
  return members;
}

async function needsReady(
  { description: { name, needs = [] } }: Member,
  { members, stop, states }: { readonly members: ReadonlyMap<string, Member>; readonly stop: AbortSignal; readonly states: ProcessStates },
): Promise<void> {
  if (needs.length === 0) return;
  states.set(name, { phase: 'waiting', waitsFor: needs });
  const stopped = Promise.withResolvers<void>();
  stop.addEventListener('abort', () => stopped.resolve(), { once: true });
  if (stop.aborted) stopped.resolve();
  await Promise.race([stopped.promise, Promise.all(needs.map((need) => members.get(need)!.ready.promise))]);
}

function keep({ description, ready, stop }: Member, options: TableOptions): Promise<number> {
  const { program, write, grace, backoff, states, silence, writeChild, onReady, beforeKill } = options;
  return supervise(description, {
    program,
    write,
    grace,
    states,
    silence,
    beforeKill: beforeKill && ((pid) => beforeKill(description.name, pid)),
    ...(backoff && { backoff }),
    signal: stop.signal,
    writeChild: writeChild(description.name),
    onReady: (readiness) => {
      ready.resolve();
      onReady(description.name, readiness);
    },
  });
}

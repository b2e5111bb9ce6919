import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUUnit } from '@capstan/api';
import { ApiError } from '@capstan/client';
import { exitCodes, Failure } from '../failure.ts';
import { isOver, phaseOf, progressOf } from './state.ts';
import { type CommandResult, RemoteCommand } from './streams/command.ts';
import { NodeAway, type UnitPod } from './streams/pod.ts';
import { converse, hasTerminal } from './streams/terminal.ts';
import { findUnit, isPassing, openUnits, type UnitFlags } from './units.ts';
import { unitUntil } from './watch.ts';

export interface ShellFlags extends UnitFlags {
  /** Unset: if there is a terminal. */
  readonly tty?: boolean;
}

const complain = (text: string): void => void process.stderr.write(`${text}\n`);

/** The best shell that the unit has. */
const anyShell = ['sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'];

/** Runs a command, or a shell, inside a unit. Resolves with its exit code. */
export async function openShell(name: string, command: readonly string[], flags: ShellFlags): Promise<number> {
  using units = openUnits(flags);
  requireRunning(await findUnit(units, name), name);
  const tty = flags.tty ?? (hasTerminal() && command.length === 0);
  const query = { command: command.length === 0 ? anyShell : command, stdin: true, stdout: true, stderr: !tty, tty };
  const pod: UnitPod = { units, name };
  try {
    const remote = await RemoteCommand.begin(pod, query);
    return exitCodeOf(await converse(remote, { tty }));
  } catch (error) {
    if (error instanceof NodeAway) throw new Failure('unexpected', `${error.message}. "capstan ps" shows whether it is back.`, error);
    if (!isPassing(error)) throw explained(error, name);
    throw new Failure(
      'unexpected',
      `the connection to ${name} was lost: ${(error as Error).message}. Whatever the command does may go on; open another shell with "capstan shell ${name}".`,
      error,
    );
  }
}

/** Connects the terminal with the program of a unit. Ctrl-] leaves it running. Resolves with its exit code, or 0. */
export async function attachTo(name: string, flags: UnitFlags & { readonly stdin?: boolean }): Promise<number> {
  using units = openUnits(flags);
  const unit = await findUnit(units, name);
  requireRunning(unit, name);
  const { tty } = unit.spec;
  if (tty && hasTerminal()) complain('Press Ctrl-] to leave; the program goes on.');
  const pod: UnitPod = { units, name };
  for (;;) {
    try {
      const remote = await RemoteCommand.begin(pod, { stdin: flags.stdin !== false, stdout: true, stderr: !tty, tty });
      const result = await converse(remote, { tty, canLeave: true });
      if (result === undefined) complain(`\r\nLeft. ${name} goes on.`);
      return exitCodeOf(result);
    } catch (error) {
      if (!isPassing(error)) throw explained(error, name);
      complain(`The connection was lost (${(error as Error).message}). Reconnecting…\r`);
      await sleep(500);
      const again = await unitUntil(units, { name, uid: unit.metadata.uid }, (seen) => isOver(seen) || phaseOf(seen) === 'Running');
      if (again === undefined || isOver(again)) return again?.status?.exitCode ?? exitCodes.notRun;
    }
  }
}

function exitCodeOf(result: CommandResult | undefined): number {
  if (result?.message !== undefined) complain(`capstan: ${result.message}`);
  return result?.code ?? 0;
}

export function requireRunning(unit: GPUUnit, name: string): void {
  const phase = phaseOf(unit);
  if (phase === 'Running' || phase === 'Unknown' || phase === 'Stopping') return;
  const next = isOver(unit)
    ? `Start it with "capstan start ${name}", or read its output with "capstan logs ${name}".`
    : `Wait with "capstan wait ${name} --for running".`;
  throw new Failure('usage', `${name} does not run: ${progressOf(unit)}. ${next}`);
}

function explained(error: unknown, name: string): unknown {
  if (!(error instanceof ApiError) || ![400, 404].includes(error.code)) return error;
  return new Failure('unexpected', `${name}: ${error.message}`, error);
}

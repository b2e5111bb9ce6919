import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@capstan/store';
import { Failure } from './failure.ts';

export interface Holder {
  readonly pid: number;
  /** The start time of the process in kernel ticks, which distinguishes it from a later process with the same id. */
  readonly began: string;
  readonly since: string;
}

/** The process that holds a directory, with the name of its lock. */
export interface HeldBy {
  readonly file: string;
  /** As messages name it. */
  readonly program: string;
  /** The flag with which another directory can be chosen. */
  readonly flag: string;
}

const up: HeldBy = { file: 'up.lock', program: 'another "capstan up"', flag: '--data-dir' };
export const nodeAgentHolder: HeldBy = { file: 'agent.lock', program: 'another agent', flag: '--state-dir' };

/** The live `capstan up` that holds a data directory. */
export function holderOf(directory: string): Holder | undefined {
  return livingHolder(join(directory, up.file));
}

function livingHolder(file: string): Holder | undefined {
  const holder = read(file);
  return holder !== undefined && beginningOf(holder.pid) === holder.began ? holder : undefined;
}

/**
 * Locks a directory for this process, by default a `capstan up`. A second one fails with the name of the holder; the lock of a process that has ended is
 * ignored.
 */
export function holdDirectory(directory: string, { file: name, program, flag }: HeldBy = up): Disposable {
  makeDirectory(directory);
  const file = join(directory, name);
  const mark: Holder = { pid: process.pid, began: beginningOf(process.pid) ?? '', since: new Date().toISOString() };
  for (let attempt = 0; attempt < 2; attempt++) {
    if (create(file, JSON.stringify(mark))) return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
    const holder = livingHolder(file);
    if (holder !== undefined) {
      throw new Failure(
        'dataDirectoryHeld',
        `${directory} is in use by ${program}: process ${holder.pid}, since ${holder.since}. Stop it (kill ${holder.pid}), or choose another directory with ${flag}.`,
      );
    }
    rmSync(file, { force: true });
  }
  throw new Failure('dataDirectoryHeld', `${program} has just started in ${directory}. Try again.`);
}

function create(file: string, text: string): boolean {
  try {
    const descriptor = openSync(file, 'wx', 0o600);
    writeSync(descriptor, text);
    closeSync(descriptor);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

/** Undefined if no such process is alive. Empty where /proc is missing: there, any live process counts. */
function beginningOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch {
    return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces: count the fields after it. The start time is the 22nd field of all.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

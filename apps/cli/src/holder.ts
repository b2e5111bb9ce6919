import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@capstan/store';
import { Failure } from './failure.ts';

interface Holder {
  readonly pid: number;
  /** When that process began, in the kernel's ticks: a later process with the same id is another. */
  readonly began: string;
  readonly since: string;
}

/** Marks a data directory as held by this `capstan up`. A second one is told who holds it; the mark of a process that is gone does not count. */
export function holdDirectory(directory: string): Disposable {
  makeDirectory(directory);
  const file = join(directory, 'up.lock');
  const mark: Holder = { pid: process.pid, began: beginningOf(process.pid) ?? '', since: new Date().toISOString() };
  for (let attempt = 0; attempt < 2; attempt++) {
    if (create(file, JSON.stringify(mark))) return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
    const holder = read(file);
    if (holder !== undefined && beginningOf(holder.pid) === holder.began) {
      throw new Failure(
        'dataDirectoryHeld',
        `${directory} is held by another "capstan up": process ${holder.pid}, since ${holder.since}. Stop it (kill ${holder.pid}), or choose another directory with --data-dir.`,
      );
    }
    rmSync(file, { force: true });
  }
  throw new Failure('dataDirectoryHeld', `${directory} was taken by another "capstan up" just now. Try again.`);
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

/** Undefined when no such process is alive. Where /proc is missing, being alive must do. */
function beginningOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch {
    return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces: count the fields after it. The 22nd of all is the start time.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

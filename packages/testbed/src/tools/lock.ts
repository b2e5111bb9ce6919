import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const busy = 5;
const pause = 200;

/**
 * Holds a lock file while `work` runs, so that two test runs do not build the same program at once. It is a lock of the operating system,
 * taken through SQLite, and is released however its holder ends. A file with the holder's process id would stay behind, and in a restarted
 * container another process soon has that id. Waits for the lock until the signal is aborted.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  using lock = open(file);
  while (!tryLock(lock)) {
    if (signal?.aborted) throw new Error(`another process holds ${file}, and there was no time left to wait for it`);
    await sleep(pause);
  }
  return await work();
}

function open(file: string): DatabaseSync {
  try {
    mkdirSync(dirname(file), { recursive: true });
    return new DatabaseSync(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${dirname(file)} cannot be written to (${reason}); set XDG_CACHE_HOME to another directory`);
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return false;
    throw error;
  }
}

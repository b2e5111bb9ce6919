import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Holder, holderOf } from '../holder.ts';
import type { ProcessState } from './states.ts';

/** The state of a `capstan up`. */
export interface UpStatus {
  readonly up: Pick<Holder, 'pid' | 'since'>;
  readonly processes: readonly ProcessState[];
}

const statusFile = (directory: string): string => join(directory, 'up.status');

/**
 * Keeps the states of the processes in a file of the data directory, for `capstan status`, which so works whatever else is down. The file is
 * replaced in one step. Disposing removes it.
 */
export class StatusFile implements Disposable {
  readonly #path: string;
  readonly #write: (line: string) => void;
  #isFailing = false;

  constructor(directory: string, write: (line: string) => void) {
    this.#path = statusFile(directory);
    this.#write = write;
  }

  /** A full disk must not stop processes that serve, so a failure is only reported. */
  update(processes: readonly ProcessState[]): void {
    try {
      const temporary = `${this.#path}.new`;
      writeFileSync(temporary, JSON.stringify({ processes }), { mode: 0o600 });
      renameSync(temporary, this.#path);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#write(`"capstan status" shows old states: ${(error as Error).message}`);
      this.#isFailing = true;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
  }
}

/** Undefined if no `capstan up` runs on the directory. One that was killed leaves its file behind. */
export function readStatus(directory: string): UpStatus | undefined {
  const holder = holderOf(directory);
  if (holder === undefined) return undefined;
  const { pid, since } = holder;
  try {
    const { processes } = JSON.parse(readFileSync(statusFile(directory), 'utf8')) as Pick<UpStatus, 'processes'>;
    return { up: { pid, since }, processes };
  } catch {
    // It has just started.
    return { up: { pid, since }, processes: [] };
  }
}

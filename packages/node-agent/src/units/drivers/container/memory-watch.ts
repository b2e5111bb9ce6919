import { hasKilledIn } from '../../../kernel/memory-kills.ts';
import { memoryGroupName, ranOutOfMemory } from './cgroups.ts';
import { readRecord, writeRecord } from './records.ts';

/**
 * Notes that programs ran out of memory. Only their cgroup knows, and Podman deletes that a few milliseconds after the end, also if nobody asks for the container. So it is read
 * at once, and the result is kept beside the other records of the start. conmon notices it, too, but some versions, such as 2.1.6, write that down where Podman does not look.
 */
export class MemoryWatch implements Disposable {
  readonly #stop = new AbortController();
  /** By the folder of the start. */
  readonly #watched = new Map<string, Promise<void>>();

  /** From now on, the end of the program is watched. */
  keep(folder: string, ended: (signal: AbortSignal) => Promise<void>): void {
    if (this.#watched.has(folder) || this.#stop.signal.aborted) return;
    const { signal } = this.#stop;
    const watched = ended(signal)
      .catch(() => {})
      .then(() => (signal.aborted ? undefined : note(folder)))
      // The folder has just been deleted.
      .catch(() => {})
      .finally(() => this.#watched.delete(folder));
    this.#watched.set(folder, watched);
  }

  /** For a program that has ended. */
  async hasRunOut(folder: string): Promise<boolean> {
    await this.#watched.get(folder);
    return (await readRecord(folder, 'ranOut')) ?? hasRunOutNow(folder);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

async function note(folder: string): Promise<void> {
  if (await hasRunOutNow(folder)) await writeRecord(folder, 'ranOut', true);
}

async function hasRunOutNow(folder: string): Promise<boolean> {
  const groups = (await readRecord(folder, 'started'))?.groups;
  if (groups === undefined) return false;
  return (await ranOutOfMemory(groups)) ?? hasKilledIn(memoryGroupName(groups));
}

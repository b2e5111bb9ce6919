import { type FSWatcher, watch } from 'node:fs';
import { link, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The output of a container in a folder. Podman writes it to `output`, and begins another file of that name when it is full. A second name
 * for each file keeps the one before. While no agent runs, whole files can be lost, but never the end.
 */
export class KeptLog {
  readonly #folder: string;
  #watcher: FSWatcher | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  static path(folder: string): string {
    return join(folder, 'output');
  }

  /** Follows the changes of files. It does not keep the process alive. */
  keep(): void {
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, (_event, name) => {
        if (name === null || name === 'output') void this.#sync();
      });
    } catch {
      // The folder has just been deleted.
      return;
    }
    this.#watcher.on('error', () => {});
    void this.#sync();
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Oldest first. */
  async files(): Promise<string[]> {
    await this.#sync();
    const [older, newest] = [this.#name('before'), KeptLog.path(this.#folder)];
    return [...((await inode(older)) === undefined ? [] : [older]), ...((await inode(newest)) === undefined ? [] : [newest])];
  }

  #sync(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#link()).catch(() => {});
    return this.#turn;
  }

  async #link(): Promise<void> {
    const [written, known] = [KeptLog.path(this.#folder), this.#name('now')];
    const [writtenInode, knownInode] = await Promise.all([inode(written), inode(known)]);
    if (writtenInode === undefined || writtenInode === knownInode) return;
    if (knownInode !== undefined) await rename(known, this.#name('before'));
    await link(written, known).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      await unlink(known);
    });
  }

  #name(which: 'now' | 'before'): string {
    return join(this.#folder, `output.${which}`);
  }
}

async function inode(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

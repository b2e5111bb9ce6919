import { type FSWatcher, watch } from 'node:fs';
import { link, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BoxOutput } from '../box-output.ts';

/**
 * The output of a container in a folder. Podman writes it to `output`, and begins another file of that name when it is full. A second name
 * for each file, `output.` and its inode, keeps the one before. While no agent runs, whole files can be lost, but never the end.
 */
export class KeptLog implements BoxOutput {
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

  /** Podman has written everything when a program has ended. */
  async finish(): Promise<void> {}

  /** Oldest first. */
  async files(): Promise<string[]> {
    await this.#sync();
    const newest = KeptLog.path(this.#folder);
    const current = await fileAt(newest);
    return [...(await this.#others(current?.ino)).slice(-1).map(({ path }) => path), ...(current === undefined ? [] : [newest])];
  }

  #sync(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#link()).catch(() => {});
    return this.#turn;
  }

  /** Can be done by several at once. */
  async #link(): Promise<void> {
    const written = KeptLog.path(this.#folder);
    const current = await fileAt(written);
    if (current === undefined) return;
    await link(written, `${written}.${current.ino}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    for (const { path } of (await this.#others(current.ino)).slice(0, -1)) await unlink(path).catch(() => {});
  }

  /** Files that were written before, oldest first. */
  async #others(current: number | undefined): Promise<{ readonly path: string; readonly mtimeMs: number }[]> {
    const names = (await readdir(this.#folder).catch(() => [])).filter(
      (name) => /^output\.\d+$/.test(name) && name !== `output.${current}`,
    );
    const found = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name);
        const file = await fileAt(path);
        return file === undefined ? [] : [{ path, mtimeMs: file.mtimeMs }];
      }),
    );
    return found.flat().sort((a, b) => a.mtimeMs - b.mtimeMs);
  }
}

async function fileAt(path: string): Promise<{ readonly ino: number; readonly mtimeMs: number } | undefined> {
  return stat(path).catch(() => undefined);
}

import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, symlink, unlink, utimes } from 'node:fs/promises';
import { ArchiveError } from './entry.ts';
import type { ReadEntry } from './read.ts';

/** A folder into which files are written. Nothing ever goes through a link below it. */
export class Place {
  readonly #folder: string;
  readonly #known = new Set<string>(['']);

  constructor(folder: string) {
    this.#folder = folder;
  }

  #at(path: string): Buffer {
    return Buffer.from(path === '' ? this.#folder : `${this.#folder}/${path}`, 'latin1');
  }

  /** Makes a folder and those above it. */
  async folder(path: string, mode: number): Promise<void> {
    if (this.#known.has(path)) return;
    await this.folder(path.split('/').slice(0, -1).join('/'), 0o755);
    const found = await this.#look(path);
    if (found === undefined) await mkdir(this.#at(path), { mode: (mode & 0o777) | 0o700 });
    else if (!found.isDirectory()) throw new ArchiveError(`${path} exists and is not a folder`);
    this.#known.add(path);
  }

  async write(
    path: string,
    { type, target = '', mode, modified, content }: ReadEntry,
    onBytes: ((count: number) => void) | undefined,
  ): Promise<void> {
    const at = this.#at(path);
    const found = await this.#look(path);
    if (found?.isDirectory() === true) throw new ArchiveError(`${path} exists and is a folder`);
    if (found !== undefined && (type === 'link' || !found.isFile())) await unlink(at);
    if (type === 'link') return symlink(Buffer.from(target, 'latin1'), at);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    await using file = await open(at, flags, mode & 0o777);
    for await (const part of content) {
      for (let written = 0; written < part.length; ) written += (await file.write(part, written)).bytesWritten;
      onBytes?.(part.length);
    }
    await file.chmod(mode & 0o777);
    await utimes(at, modified, modified);
  }

  /** A file that is there; undefined if there is none, or something else. */
  async file(path: string): Promise<Stats | undefined> {
    const parts = path.split('/');
    for (let count = 1; count < parts.length; count++)
      if ((await this.#look(parts.slice(0, count).join('/')))?.isDirectory() !== true) return undefined;
    const found = await this.#look(path);
    return found?.isFile() === true ? found : undefined;
  }

  /** Opens a file that `file` has found, to read and change it. */
  open(path: string): Promise<FileHandle> {
    return open(this.#at(path), constants.O_RDWR | constants.O_NOFOLLOW);
  }

  async #look(path: string): Promise<Stats | undefined> {
    try {
      return await lstat(this.#at(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

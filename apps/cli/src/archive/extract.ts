import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, symlink, unlink, utimes } from 'node:fs/promises';
import { ArchiveError } from './entry.ts';
import { type ReadEntry, readArchive } from './read.ts';

export interface ExtractOptions {
  /** An existing folder, as a string of bytes. Nothing is written outside. */
  readonly folder: string;
  /** The path of an entry in the folder; undefined leaves it out. */
  readonly pathOf?: (path: string) => string | undefined;
  readonly onBytes?: ((count: number) => void) | undefined;
  readonly onSkipped?: ((path: string, why: string) => void) | undefined;
}

/**
 * Writes the files of an archive, which nobody has to trust: entries never go through links, links never lead out of the folder, and nothing becomes
 * more than a file with permissions. Resolves with the number of files and links.
 */
export async function extractArchive(source: AsyncIterable<Buffer>, options: ExtractOptions): Promise<number> {
  const { folder, pathOf = (path: string) => path, onSkipped } = options;
  const skipped = (path: string, why: string): void => onSkipped?.(path, why);
  const place = new Place(folder);
  let count = 0;
  for await (const entry of readArchive(source, { onSkipped: skipped })) {
    const path = pathOf(entry.path);
    if (path === undefined || (path === '' && entry.type !== 'folder')) continue;
    if (entry.type === 'folder') {
      await place.folder(path, entry.mode);
      continue;
    }
    await place.folder(path.split('/').slice(0, -1).join('/'), 0o755);
    if (entry.type === 'link' && !staysInside(path, entry.target ?? ''))
      skipped(entry.path, `it leads out of the folder, to ${entry.target}`);
    else {
      await place.write(path, entry, options.onBytes);
      count++;
    }
  }
  return count;
}

/** `..` only at the start: after the name of another link it would lead somewhere else than it seems. */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const ups = firstName < 0 ? parts.length : firstName;
  return ups < path.split('/').length && !parts.slice(ups).includes('..');
}

class Place {
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

  async #look(path: string): Promise<Stats | undefined> {
    try {
      return await lstat(this.#at(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

import { chmod, link, lstat, mkdir, open, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { closeSizedFolder, type SizeOptions } from '../../disks/sized-folder.ts';
import { NoSpace } from '../../disks/space.ts';
import { uploadRoom, uploadsIn } from '../engine/removal.ts';
import { makeFolder, openUploadRoom } from './rooms.ts';
import { readTar, type TarEntry } from './tar.ts';

export interface UnpackLimits {
  /** Of all files together, unpacked. */
  readonly bytes: number;
  readonly entries: number;
}

export const defaultUploadLimits: UnpackLimits = { bytes: 10 * 2 ** 30, entries: 200_000 };

export class UploadError extends Error {
  override readonly name = 'UploadError';
}

const longestPath = 4096;
/** The folder itself, its owner and special bits are the agent's business: of the mode, only these bits are taken. */
const modeBits = 0o755;

export interface UnpackOptions {
  readonly limits: UnpackLimits;
  /** The size of the folder, in which the unit may write; undefined if it cannot have one, and `made` if it is there already, empty. */
  readonly room?: SizeOptions | 'made' | undefined;
  readonly signal: AbortSignal;
}

/**
 * Unpacks a gzipped tar archive into the uploads of a unit. They are there only if all of it is well. Nothing runs in the folder meanwhile, and every
 * entry is checked: paths stay below the folder, no link is followed, and links stay below the folder, too.
 */
export async function unpackUpload(input: Readable, folder: string, { limits, room, signal }: UnpackOptions): Promise<void> {
  const target = uploadsIn(folder);
  const fresh = room === undefined ? `${target}.new` : target;
  const clear = async (): Promise<void> => {
    await closeSizedFolder(uploadRoom(folder));
    await rm(fresh, { recursive: true, force: true });
  };
  const gunzip: Transform = createGunzip();
  // Whoever reads it learns of an error, which may come before anybody does.
  gunzip.on('error', () => {});
  input.on('error', (error: Error) => gunzip.destroy(error));
  const abort = (): void => void gunzip.destroy(new UploadError('the upload was cut off'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (room === undefined) {
      await clear();
      await makeFolder(fresh);
    } else if (room !== 'made') await openUploadRoom(folder, room);
    await unpackArchive(input.pipe(gunzip), fresh, { limits, signal });
    if (room !== undefined) return;
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
  } catch (error) {
    await clear();
    throw readable(error);
  } finally {
    signal.removeEventListener('abort', abort);
    input.destroy();
    gunzip.destroy();
  }
}

/** Unpacks a tar archive into a folder in which nothing else is. The folder is useless if this rejects. */
export async function unpackArchive(
  input: AsyncIterable<Buffer>,
  folder: string,
  { limits, signal }: { readonly limits: UnpackLimits; readonly signal: AbortSignal },
): Promise<void> {
  let [bytes, entries] = [0, 0];
  const count = (added: number): void => {
    bytes += added;
    if (bytes > limits.bytes) throw new UploadError(`the files have more than ${limits.bytes} bytes`);
  };
  try {
    for await (const entry of readTar(bounded(input, limits))) {
      if (++entries > limits.entries) throw new UploadError(`the archive has more than ${limits.entries} entries`);
      if (entry.kind === 'file' && entry.size > limits.bytes) count(entry.size);
      await unpackEntry(folder, entry, count);
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
  } catch (error) {
    throw readable(error);
  }
}

/** Headers and zeros do not count as files, and must not go on without an end either. */
async function* bounded(bytes: AsyncIterable<Buffer>, limits: UnpackLimits): AsyncGenerator<Buffer> {
  let left = 2 * limits.bytes + limits.entries * 4096 + (1 << 20);
  for await (const piece of bytes) {
    left -= piece.length;
    if (left < 0) throw new UploadError('the archive is too large');
    yield piece;
  }
}

async function unpackEntry(root: string, entry: TarEntry, count: (bytes: number) => void): Promise<void> {
  const parts = partsOf(entry.path);
  // The folder itself, as `tar -C folder .` has it.
  if (parts.length === 0) return;
  const path = join(root, ...parts);
  if (entry.kind === 'directory') {
    await ensureFolder(root, parts);
    return;
  }
  await ensureFolder(root, parts.slice(0, -1));
  const existing = await lstat(path).catch(() => undefined);
  if (existing?.isDirectory() === true) throw new UploadError(`${entry.path} is both a directory and something else`);
  // The last of several entries with one name counts; what is there is never written through.
  if (existing !== undefined) await rm(path);
  if (entry.kind === 'symlink') {
    checkLink(parts, entry.target);
    await symlink(entry.target, path);
  } else if (entry.kind === 'hardlink') {
    const source = partsOf(entry.target);
    await checkFolders(root, source.slice(0, -1));
    const from = join(root, ...source);
    if ((await lstat(from).catch(() => undefined))?.isFile() !== true)
      throw new UploadError(`${entry.path} is a link to ${entry.target}, which is no file`);
    await link(from, path);
  } else await writeContent(path, entry, count);
}

async function writeContent(path: string, entry: Extract<TarEntry, { kind: 'file' }>, count: (bytes: number) => void): Promise<void> {
  // Never an existing file, never through a link.
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.chmod((entry.mode & modeBits) | 0o644);
    for await (const bytes of entry.content) {
      count(bytes.length);
      for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
    }
  } finally {
    await handle.close();
  }
}

/** The parts of a path below the folder. */
function partsOf(path: string): string[] {
  if (path.startsWith('/')) throw new UploadError(`${JSON.stringify(path)} is an absolute path`);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new UploadError(`${JSON.stringify(path)} leads out of the directory`);
  if (path.length > longestPath || path.includes('\0')) throw new UploadError('a path of the archive cannot be used');
  return parts;
}

/**
 * A link may go up first, never beyond the folder, and then down only. The folders above a link are real ones, so going up from there is what it looks like; whatever links
 * it meets on the way down stay inside as well.
 */
function checkLink(parts: readonly string[], target: string): void {
  const steps = target.split('/').filter((part) => part !== '' && part !== '.');
  const up = steps.findIndex((part) => part !== '..');
  const ups = up < 0 ? steps.length : up;
  const isInside = !target.startsWith('/') && ups <= parts.length - 1 && !steps.slice(ups).includes('..');
  if (!isInside || target === '' || target.length > longestPath || target.includes('\0'))
    throw new UploadError(`${parts.join('/')} is a link to ${JSON.stringify(target)}, which may lead out of the directory`);
}

/** Creates folders as needed. All that are there must be folders, not links to some. */
async function ensureFolder(root: string, parts: readonly string[]): Promise<void> {
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    await mkdir(path).then(
      () => chmod(path, 0o755),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
    if (!(await lstat(path)).isDirectory()) throw new UploadError(`${parts.join('/')} goes through something that is no directory`);
  }
}

async function checkFolders(root: string, parts: readonly string[]): Promise<void> {
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    if ((await lstat(path).catch(() => undefined))?.isDirectory() !== true)
      throw new UploadError(`${dirname(parts.join('/'))} is no directory`);
  }
}

/** Paths of the node are none of the client's business. */
function readable(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new UploadError('the files do not fit on the disk of the node');
  if (error instanceof NoSpace) return new UploadError(`the unit ${error.message}`);
  if (typeof code === 'string' && code.startsWith('Z_')) return new UploadError('it is no gzip archive, or it is damaged');
  if (typeof code === 'string' && code.startsWith('E') && code !== 'ERR_STREAM_PREMATURE_CLOSE')
    return new UploadError(`a file cannot be written: ${code}`);
  return error instanceof Error ? error : new UploadError(String(error));
}

import { createReadStream } from 'node:fs';
import { chmod, mkdir, rename, rm, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { NodeVolumeSpec, StorageDownload } from '@capstan/api';
import { copyFiles } from '../../disks/copy.ts';
import { runProgram } from '../../disks/programs.ts';
import { UnitProblem } from '../../units/drivers/driver.ts';
import { unpackArchive } from '../../units/uploads/unpack.ts';
import { asVolumeProblem, VolumeProblem } from '../problem.ts';
import { downloadFile } from './download.ts';

export interface PreparationOptions {
  /** In bytes: the size of the volume. */
  readonly limit: number;
  /** Gives the files of another volume of the same owner to the function, and to nobody else meanwhile. */
  readonly borrow: <T>(volume: string, use: (path: string) => Promise<T>) => Promise<T>;
  readonly isRefused: (address: string) => boolean;
  /** Undefined if this machine has no engine for images. */
  readonly images: ImageSource | undefined;
  readonly signal: AbortSignal;
}

/** Gives the files of an image to a function, as a tar archive. Rejects with a UnitProblem, or like the function. */
export type ImageSource = <T>(image: string, use: (archive: Readable) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** The files of a volume, below the folder that its backend opens. They are complete if this folder exists. */
export const dataIn = (root: string): string => join(root, 'data');

/** Makes the first files of a volume, once: they are made beside their place, and get there all at once. */
export async function prepareFiles(root: string, prepare: NodeVolumeSpec['prepare'], options: PreparationOptions): Promise<void> {
  const fresh = join(root, 'data.new');
  const archive = join(root, 'download');
  await rm(fresh, { recursive: true, force: true });
  await rm(archive, { force: true });
  try {
    await mkdir(fresh);
    await chmod(fresh, 0o755);
    if (prepare?.storage !== undefined) await copyFrom(prepare.storage, fresh, options);
    if (prepare?.url !== undefined) await fetchInto(prepare.url, { root, fresh, archive }, options);
    if (prepare?.image !== undefined) await unpackImage(prepare.image, fresh, options);
    await rm(archive, { force: true });
    await runProgram('sync', ['--file-system', root]);
    await rename(fresh, dataIn(root));
    await runProgram('sync', ['--file-system', root]);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true }).catch(() => {});
    await rm(archive, { force: true }).catch(() => {});
    options.signal.throwIfAborted();
    throw error;
  }
}

/** Nobody changes the source meanwhile: a folder that becomes a link in the middle of a copy would lead out of it. */
async function copyFrom(source: string, fresh: string, { borrow, signal }: PreparationOptions): Promise<void> {
  await borrow(source, async (path) => {
    try {
      await copyFiles(path, fresh, signal);
    } catch (error) {
      throw (await isFull(fresh)) ? doesNotFit() : asVolumeProblem(error);
    }
  });
}

interface Places {
  readonly root: string;
  readonly fresh: string;
  readonly archive: string;
}

async function fetchInto({ url, sha256, unpack }: StorageDownload, { fresh, archive }: Places, options: PreparationOptions): Promise<void> {
  const { limit, isRefused, signal } = options;
  await downloadFile(url, archive, { sha256, limit, isRefused, signal });
  if (unpack === 'None') return rename(archive, join(fresh, nameOf(url)));
  const file = createReadStream(archive);
  const input = unpack === 'TarGzip' ? file.pipe(createGunzip()) : file;
  file.on('error', (error) => input.destroy(error));
  try {
    await unpackInto(input, fresh, { what: 'the archive', limit, signal });
  } finally {
    file.destroy();
    input.destroy();
  }
}

async function unpackInto(
  input: AsyncIterable<Buffer>,
  fresh: string,
  { what, limit, signal }: { readonly what: string; readonly limit: number; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await unpackArchive(input, fresh, { limits: { bytes: limit, entries: mostEntries }, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (await isFull(fresh)) throw doesNotFit();
    throw new VolumeProblem('UnpackFailed', `${what} cannot be unpacked: ${(error as Error).message}`, { isFinal: true, cause: error });
  }
}

async function unpackImage(image: string, fresh: string, { limit, images, signal }: PreparationOptions): Promise<void> {
  if (images === undefined)
    throw new VolumeProblem('ImageUnavailable', 'the node has no container engine, which unpacks images: apt-get install podman', {
      isFinal: true,
    });
  try {
    await images(image, (archive) => unpackInto(archive, fresh, { what: `the image ${image}`, limit, signal }), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof UnitProblem)) throw error;
    throw new VolumeProblem('ImageUnavailable', error.message, { isFinal: error.isFinal, cause: error });
  }
}

const mostEntries = 10_000_000;

/** A name that is only a name: the tenant has chosen it. */
function nameOf(url: string): string {
  const name = basename(new URL(url).pathname).replaceAll(/[^A-Za-z0-9._-]/g, '_');
  return name === '' || name === '.' || name === '..' ? 'download' : name;
}

const doesNotFit = (): VolumeProblem =>
  new VolumeProblem('DiskFull', 'the files do not fit into the storage; make it larger', { isFinal: true });

/** Some blocks stay free for lack of a use. */
async function isFull(folder: string): Promise<boolean> {
  const { bavail, ffree, bsize } = await statfs(folder);
  return bavail * bsize < 1 << 20 || ffree === 0;
}

import { mkdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { mountAt } from '../../disks/mounts.ts';
import { runProgram } from '../../disks/programs.ts';
import { mebibytes, requireSpace, reserveFile } from '../../disks/space.ts';
import { VolumeProblem } from '../problem.ts';
import type { OpenOptions, SnapshotOptions, VolumeBackend, VolumeUsage } from './backend.ts';
import { copyFrozen, thaw } from './frozen-copy.ts';

/** Programs that the backend needs. */
export const loopPrograms = [
  'mkfs.ext4',
  'e2fsck',
  'e2image',
  'resize2fs',
  'losetup',
  'mount',
  'umount',
  'fsfreeze',
  'fallocate',
  'truncate',
];

export interface LoopOptions {
  /** In bytes: how much of a disk of this size volumes leave free. */
  readonly spare: (disk: number) => number;
  /** In seconds: how long programs may wait with their writes while a snapshot is taken. */
  readonly longestFreeze?: number;
}

const longestFreeze = 30;
/** In seconds, where no program waits. */
const noLimit = 7 * 24 * 3600;

/** A file system of its own in a file whose blocks are reserved: programs can neither use more nor get less than its size. */
export class LoopBackend implements VolumeBackend {
  readonly name = 'loop';
  readonly unlimited = undefined;
  readonly #options: LoopOptions;
  /** Places that this process has seen. */
  readonly #seen = new Set<string>();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** The image counts when it has its name: one that was not finished is made anew. */
  async create(folder: string, size: number): Promise<void> {
    const [image, fresh] = [imageIn(folder), `${imageIn(folder)}.new`];
    if ((await sizeOf(image)) !== undefined) return;
    await rm(fresh, { force: true });
    try {
      await this.#reserve(fresh, size);
      // Discarding would give the reserved blocks back.
      await runProgram('mkfs.ext4', ['-q', '-F', '-m', '0', '-E', 'nodiscard,lazy_itable_init=1,lazy_journal_init=1', fresh]);
      await runProgram('sync', [fresh]);
      await rename(fresh, image);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  }

  async exists(folder: string): Promise<boolean> {
    return (await sizeOf(imageIn(folder))) !== undefined;
  }

  /** A file with holes: nothing is ever written to it again. */
  async snapshot(source: string, folder: string, { limit, isIdle, signal }: SnapshotOptions): Promise<void> {
    const { usedBytes } = await this.usage(source);
    if (usedBytes > limit)
      throw new VolumeProblem(
        'DiskFull',
        `the files of the storage need ${mebibytes(usedBytes)}, which is more than the size of the snapshot; make it larger`,
        { isFinal: true },
      );
    const [image, fresh] = [imageIn(folder), `${imageIn(folder)}.new`];
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rm(fresh, { force: true });
    await this.#requireSpace(fresh, usedBytes);
    try {
      await this.#copyImage(source, fresh, { isIdle, signal });
      await check(fresh, false);
      await runProgram('sync', [fresh]);
      await rename(fresh, image);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  }

  async #copyImage(source: string, copy: string, { isIdle, signal }: Pick<SnapshotOptions, 'isIdle' | 'signal'>): Promise<void> {
    const [image, point] = [imageIn(source), pointIn(source)];
    const limit = isIdle ? noLimit : (this.#options.longestFreeze ?? longestFreeze);
    const result = await copyFrozen({ point, image, copy, limit, signal });
    if (result === 'copied') return;
    if (!isIdle)
      throw new VolumeProblem(
        'SourceInUse',
        result === 'tookTooLong'
          ? `the storage is too large to be copied in ${limit} s while units use it; the snapshot is taken when they have ended`
          : 'the node cannot take a snapshot while units use the storage; it is taken when they have ended',
      );
    // Nobody writes, and the check of the copy replays its journal.
    await runProgram('sync', ['--file-system', point]);
    await runProgram('e2image', ['-raf', image, copy], { signal });
  }

  async open(folder: string, { repair, readOnly }: OpenOptions): Promise<string> {
    const [image, point] = [imageIn(folder), pointIn(folder)];
    await mkdir(point, { recursive: true, mode: 0o700 });
    if ((await mountedAt(point)) !== undefined) {
      if (!this.#seen.has(point)) await thaw(point);
      this.#seen.add(point);
      return point;
    }
    this.#seen.add(point);
    // Somebody else, such as a unit that has not ended yet, may have it mounted: `mount` takes the same device then, and it must not be checked.
    if ((await devicesOf(image)).length === 0) await check(image, repair);
    await runProgram('mount', ['-t', 'ext4', '-o', `loop,nodev,nosuid${readOnly ? ',ro' : ''}`, image, point]);
    return point;
  }

  async grow(folder: string, size: number, { isIdle }: { readonly isIdle: boolean }): Promise<void> {
    const [image, point] = [imageIn(folder), pointIn(folder)];
    const before = (await sizeOf(image)) ?? 0;
    if (before < size) await this.#reserve(image, size, before);
    const device = await mountedAt(point);
    if (device === undefined) throw new VolumeProblem('NodeProblem', 'the volume is not mounted on the node');
    await runProgram('losetup', ['-c', device]);
    try {
      await runProgram('resize2fs', [device]);
    } catch (error) {
      // Agents in containers may lack the right to do it while the file system is mounted.
      if (!isIdle) throw new VolumeProblem('InUse', 'the node cannot enlarge the storage while units use it', { cause: error });
      await runProgram('umount', [point]);
      try {
        if ((await devicesOf(image)).length > 0)
          throw new VolumeProblem('InUse', 'the node cannot enlarge the storage while something else has it mounted', { cause: error });
        await runProgram('e2fsck', ['-p', '-f', image], { accepted: [0, 1, 2] });
        await runProgram('resize2fs', [image]);
      } finally {
        await this.open(folder, { repair: false, readOnly: false });
      }
    }
  }

  async usage(folder: string): Promise<VolumeUsage> {
    const { blocks, bfree, bsize } = await statfs(pointIn(folder));
    return { capacityBytes: blocks * bsize, usedBytes: (blocks - bfree) * bsize };
  }

  async remove(folder: string): Promise<void> {
    const point = pointIn(folder);
    // More than once if something else has mounted it there as well.
    while ((await mountedAt(point)) !== undefined) await runProgram('umount', [point]);
    await rm(imageIn(folder), { force: true });
    await rm(`${imageIn(folder)}.new`, { force: true });
    await rm(point, { recursive: true, force: true });
    this.#seen.delete(point);
  }

  #reserve(file: string, size: number, before = 0): Promise<void> {
    return reserveFile(file, { size, before, require: (bytes) => this.#requireSpace(file, bytes) });
  }

  #requireSpace(file: string, needed: number): Promise<void> {
    return requireSpace(file, needed, { spare: this.#options.spare, what: 'volumes' });
  }
}

const imageIn = (folder: string): string => join(folder, 'image');
const pointIn = (folder: string): string => join(folder, 'mount');

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}

/** Exit codes of e2fsck: 1 and 2 mean that everything was corrected. */
async function check(image: string, repair: boolean): Promise<void> {
  try {
    await runProgram(
      'e2fsck',
      [repair ? '-y' : '-p', '-f', image].filter((word) => repair || word !== '-f'),
      { accepted: [0, 1, 2] },
    );
  } catch (error) {
    throw new VolumeProblem('FileSystemDamaged', 'the file system of the storage is damaged; recover it to repair it', {
      isFinal: true,
      cause: error,
    });
  }
}

async function devicesOf(image: string): Promise<string[]> {
  const lines = await runProgram('losetup', ['--noheadings', '--output', 'NAME', '--associated', image]);
  return lines.split('\n').filter((line) => line !== '');
}

/** The device that is mounted at a folder. */
const mountedAt = async (folder: string): Promise<string | undefined> => (await mountAt(folder))?.source;

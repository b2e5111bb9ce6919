import { access, mkdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { VolumeProblem } from '../problem.ts';
import { runProgram } from '../programs.ts';
import type { SnapshotOptions, VolumeBackend, VolumeUsage } from './backend.ts';

/** Files in a plain folder, for agents that can do no better. Nothing limits their size but the disk. */
export class FolderBackend implements VolumeBackend {
  readonly name = 'folder';
  readonly unlimited: string;

  constructor(why: string) {
    this.unlimited = why;
  }

  async create(folder: string): Promise<void> {
    await mkdir(filesIn(folder), { recursive: true, mode: 0o700 });
  }

  exists(folder: string): Promise<boolean> {
    return access(filesIn(folder)).then(
      () => true,
      () => false,
    );
  }

  /** Only while nobody writes: a folder cannot be frozen. */
  async snapshot(source: string, folder: string, { isIdle, signal }: SnapshotOptions): Promise<void> {
    if (!isIdle) throw new VolumeProblem('SourceInUse', 'the storage is mounted by a unit; the snapshot is taken when the unit has ended');
    const fresh = `${filesIn(folder)}.new`;
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    await runProgram('cp', ['--archive', '--reflink=auto', '--one-file-system', `${filesIn(source)}/.`, fresh], { signal });
    await runProgram('sync', ['--file-system', fresh]);
    await rename(fresh, filesIn(folder));
  }

  async open(folder: string): Promise<string> {
    return filesIn(folder);
  }

  async grow(): Promise<void> {}

  async usage(folder: string): Promise<VolumeUsage> {
    const { blocks, bsize } = await statfs(folder);
    const counted = await runProgram('du', ['-s', '-x', '--block-size=1', filesIn(folder)], { accepted: [0, 1] });
    return { capacityBytes: blocks * bsize, usedBytes: Number.parseInt(counted, 10) || 0 };
  }

  async remove(folder: string): Promise<void> {
    await rm(filesIn(folder), { recursive: true, force: true });
    await rm(`${filesIn(folder)}.new`, { recursive: true, force: true });
  }
}

/** Where files are in the folder of a volume. */
export const filesIn = (folder: string): string => join(folder, 'files');

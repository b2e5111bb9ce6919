import { access, mkdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { copyFiles } from '../../disks/copy.ts';
import { runProgram } from '../../disks/programs.ts';
import { VolumeProblem } from '../problem.ts';
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

  async snapshot(source: string, folder: string, { isIdle, signal }: SnapshotOptions): Promise<void> {
    await copyIdle({ source, folder, isIdle, signal });
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

export interface IdleCopy extends Pick<SnapshotOptions, 'isIdle' | 'signal'> {
  readonly source: string;
  readonly folder: string;
  /** Does something to the new folder before there are files in it. */
  readonly prepare?: (fresh: string) => Promise<void>;
}

/** Copies the files of a volume. Only while nobody writes: a folder cannot be frozen. */
export async function copyIdle({ source, folder, isIdle, signal, prepare }: IdleCopy): Promise<void> {
  if (!isIdle) throw new VolumeProblem('SourceInUse', 'the storage is mounted by a unit; the snapshot is taken when the unit has ended');
  const fresh = `${filesIn(folder)}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  await prepare?.(fresh);
  await copyFiles(filesIn(source), fresh, signal);
  await runProgram('sync', ['--file-system', fresh]);
  await rename(fresh, filesIn(folder));
}

import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../programs.ts';
import type { VolumeBackend, VolumeUsage } from './backend.ts';

/** Files in a plain folder, for agents that can do no better. Nothing limits their size but the disk. */
export class FolderBackend implements VolumeBackend {
  readonly name = 'folder';
  readonly unlimited: string;

  constructor(why: string) {
    this.unlimited = why;
  }

  async create(folder: string): Promise<void> {
    await mkdir(rootIn(folder), { recursive: true, mode: 0o700 });
  }

  async open(folder: string): Promise<string> {
    return rootIn(folder);
  }

  async grow(): Promise<void> {}

  async usage(folder: string): Promise<VolumeUsage> {
    const { blocks, bsize } = await statfs(folder);
    const counted = await runProgram('du', ['-s', '-x', '--block-size=1', rootIn(folder)], { accepted: [0, 1] });
    return { capacityBytes: blocks * bsize, usedBytes: Number.parseInt(counted, 10) || 0 };
  }

  async remove(folder: string): Promise<void> {
    await rm(rootIn(folder), { recursive: true, force: true });
  }
}

const rootIn = (folder: string): string => join(folder, 'files');

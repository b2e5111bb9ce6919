import { mkdir, statfs } from 'node:fs/promises';
import { runProgram } from '../../disks/programs.ts';
import { VolumeProblem } from '../problem.ts';
import type { VolumeBackend, VolumeUsage } from './backend.ts';
import { FolderBackend } from './folder.ts';

/** In milliseconds: counting the files of a large file system takes long, and loads its server. */
const countEvery = 15 * 60_000;

/** Files in a folder of a shared directory. The folder of the record on this machine is not used. */
export class SharedBackend implements VolumeBackend {
  readonly name = 'shared';
  readonly unlimited = 'the file system of the shared directory does not limit folders';
  readonly #place: () => Promise<string>;
  readonly #folder = new FolderBackend(this.unlimited);
  #counted: { readonly at: number; readonly usedBytes: number } | undefined;

  /** `place` resolves with the folder of the volume, or rejects with a VolumeProblem. */
  constructor(place: () => Promise<string>) {
    this.#place = place;
  }

  async create(): Promise<void> {
    const place = await this.#place();
    await mkdir(place, { recursive: true, mode: 0o700 });
    await this.#folder.create(place);
  }

  async exists(): Promise<boolean> {
    return this.#folder.exists(await this.#place());
  }

  async open(): Promise<string> {
    return this.#folder.open(await this.#place());
  }

  /** Units on other nodes may write at any time. */
  async snapshot(): Promise<void> {
    throw new VolumeProblem('SourceUnavailable', 'a storage in a shared directory has no snapshots', { isFinal: true });
  }

  async grow(): Promise<void> {}

  async usage(): Promise<VolumeUsage> {
    const place = await this.#place();
    const { blocks, bsize } = await statfs(place);
    if (this.#counted === undefined || performance.now() - this.#counted.at > countEvery)
      this.#counted = { at: performance.now(), usedBytes: (await this.#folder.usage(place)).usedBytes };
    return { capacityBytes: blocks * bsize, usedBytes: this.#counted.usedBytes };
  }

  /** By a program that never follows a link, also if somebody puts one there meanwhile. */
  async remove(): Promise<void> {
    await runProgram('rm', ['--recursive', '--force', '--one-file-system', '--', await this.#place()]);
  }
}

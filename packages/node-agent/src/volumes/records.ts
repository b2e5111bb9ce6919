import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeVolumeSpec } from '@capstan/api';
import { isObject } from '@capstan/machinery';
import { syncFolder, writeSynced } from '../units/records/records.ts';
import type { BackendName } from './backends/backend.ts';

/** All that an agent needs to find a volume again. */
export interface VolumeRecord {
  readonly version: 1;
  readonly name: string;
  /** UID and generation of the NodeVolume, as it was last seen. */
  readonly uid: string;
  readonly generation: number;
  readonly spec: NodeVolumeSpec;
  readonly backend: BackendName;
  /** In bytes: the size that it has. */
  readonly size: number;
  /** The number of `spec.recover` that was done last. */
  readonly recovered: number;
  /** Whether it has had its first files. */
  readonly prepared: boolean;
  /** The moment whose files a snapshot has, as soon as one is being copied. */
  readonly takenAt?: string;
}

const recordFile = 'record.json';

export const isVolumeName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(name);

/** The records of volumes, a folder for each with everything that belongs to it. */
export class VolumeRecords {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  folder(name: string): string {
    return join(this.#directory, name);
  }

  async read(name: string): Promise<VolumeRecord | undefined> {
    const text = await readFile(join(this.folder(name), recordFile), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (text === '') return undefined;
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || value['version'] !== 1) throw new Error(`the record of volume ${name} is not of this version`);
    return value as unknown as VolumeRecord;
  }

  async all(log: (line: string) => void): Promise<VolumeRecord[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const found: VolumeRecord[] = [];
    for (const name of (await readdir(this.#directory)).filter(isVolumeName)) {
      const record = await this.read(name).catch((error: Error) => {
        log(`the record of volume ${name} cannot be read: ${error.message}`);
        return undefined;
      });
      if (record !== undefined) found.push(record);
    }
    return found;
  }

  /** Resolves when the record is on the disk. */
  async write(record: VolumeRecord): Promise<void> {
    const folder = this.folder(record.name);
    const fresh = join(folder, `${recordFile}.new`);
    const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    await writeSynced(fresh, JSON.stringify(record));
    await rename(fresh, join(folder, recordFile));
    await syncFolder(folder);
    if (isNew) await syncFolder(this.#directory);
  }

  /** Removes the record and its folder, last of all. */
  async remove(name: string): Promise<void> {
    await rm(this.folder(name), { recursive: true, force: true });
    await syncFolder(this.#directory);
  }
}

import { lstat } from 'node:fs/promises';
import type { NodeVolume, NodeVolumeStatus, SharedDirectory, UnitOwner } from '@capstan/api';
import type { StorageFolders } from '../units/engine/room.ts';
import type { Backends } from './backends/choice.ts';
import { filesIn } from './backends/folder.ts';
import type { Lent } from './lending.ts';
import { dataIn, type ImageSource } from './preparation/prepare.ts';
import { VolumeProblem } from './problem.ts';
import { isVolumeName, type VolumeRecords } from './records.ts';
import type { SharedDirectories } from './shared/directories.ts';
import type { VolumeTimes } from './times.ts';
import { type Borrowed, VolumeWork, type WantedVolume } from './volume-work.ts';

export interface VolumeEngineOptions {
  readonly records: VolumeRecords;
  readonly backends: Backends;
  readonly directories: SharedDirectories;
  readonly times: VolumeTimes;
  readonly isInUse: (volume: string) => boolean;
  readonly isRefused: (address: string) => boolean;
  readonly images?: ImageSource | undefined;
  /** Stores the status of a NodeVolume at the control plane, some time. */
  readonly report: (volume: { readonly name: string; readonly uid: string }, status: NodeVolumeStatus) => void;
  readonly log: (line: string) => void;
}

/** The volumes of this machine. Their files outlive it, and everything but `deleted`. */
export class VolumeEngine implements StorageFolders, AsyncDisposable {
  readonly #options: VolumeEngineOptions;
  readonly #works = new Map<string, VolumeWork>();
  readonly #stop = new AbortController();

  constructor(options: VolumeEngineOptions) {
    this.#options = options;
  }

  /** Makes the volumes of the records usable, also while the control plane cannot be reached. */
  async resume(): Promise<void> {
    const { records, log } = this.#options;
    for (const { name, uid, generation, spec } of await records.all(log)) this.#begin({ name, uid, generation, spec });
  }

  /** Takes a NodeVolume as the control plane has it now. Doing so again changes nothing. */
  accept({ metadata, spec, status }: NodeVolume): void {
    const { name = '', uid = '', generation = 0 } = metadata;
    if (!isVolumeName(name)) return this.#options.log(`the name of the volume ${name} cannot be used`);
    const wanted: WantedVolume = { name, uid, generation, spec };
    const work = this.#works.get(name);
    if (work !== undefined) work.want(wanted);
    else if (status?.phase !== 'Deleted') this.#begin(wanted);
  }

  /** The NodeVolume is gone. Nobody has said that the files are to be deleted, so they stay. */
  forget(name: string): void {
    const work = this.#works.get(name);
    if (work !== undefined) this.#options.log(`the volume ${name} has disappeared from the control plane; its files stay on this node`);
  }

  get names(): string[] {
    return [...this.#works.keys()];
  }

  async pathOf(
    name: string,
    { cluster, namespace }: Pick<UnitOwner, 'cluster' | 'namespace'>,
    { readOnly, directory }: { readonly readOnly: boolean; readonly directory?: SharedDirectory | undefined },
  ): Promise<string | undefined> {
    if (directory !== undefined) return this.#sharedPath(name, { cluster, namespace }, directory);
    const work = this.#works.get(name);
    const owner = work?.wanted.spec.owner;
    if (work === undefined || owner?.cluster !== cluster || owner.namespace !== namespace) return undefined;
    return work.isSnapshot && !readOnly ? undefined : work.path;
  }

  /** Another node may keep the volume. Its files are complete if they are there. */
  async #sharedPath(
    name: string,
    owner: Pick<UnitOwner, 'cluster' | 'namespace'>,
    directory: SharedDirectory,
  ): Promise<string | undefined> {
    if (this.#works.get(name)?.wanted.spec.deleted === true) return undefined;
    try {
      const path = dataIn(filesIn(await this.#options.directories.folderOf(directory, owner, name)));
      return (await lstat(path)).isDirectory() ? path : undefined;
    } catch (error) {
      this.#options.log(`the volume ${name} cannot be used: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** Leaves everything mounted: units go on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#works.values()].map(({ done }) => done));
  }

  #begin(wanted: WantedVolume): void {
    const { report, log } = this.#options;
    const work = new VolumeWork(wanted, {
      ...this.#options,
      report: (volume, status) => report(volume, status),
      borrow: (from, use) => this.#borrow(from, use),
      signal: this.#stop.signal,
    });
    this.#works.set(wanted.name, work);
    work.done
      .catch((error: unknown) => log(`the volume ${wanted.name} is not followed any more: ${String(error)}`))
      .finally(() => this.#works.delete(wanted.name));
  }

  async #borrow<T>({ borrower: { spec }, volume, ...options }: Borrowed, use: (lent: Lent) => Promise<T>): Promise<T> {
    const work = this.#works.get(volume);
    const owner = work?.wanted.spec.owner;
    if (work === undefined || owner?.cluster !== spec.owner.cluster || owner.namespace !== spec.owner.namespace)
      throw new VolumeProblem('SourceUnavailable', 'the storage that is to be copied is not on this node');
    return work.lend(use, options);
  }
}

import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeVolumePhase, NodeVolumeStatus } from '@capstan/api';
import { sameJson } from '@capstan/machinery';
import type { VolumeBackend } from './backends/backend.ts';
import type { Backends } from './backends/choice.ts';
import { dataIn, type PreparationOptions, prepareFiles } from './preparation/prepare.ts';
import { asVolumeProblem, VolumeProblem } from './problem.ts';
import type { VolumeRecord, VolumeRecords } from './records.ts';
import { mostDownloads, type VolumeTimes } from './times.ts';

/** A volume as the control plane wants it. */
export type WantedVolume = Pick<VolumeRecord, 'name' | 'uid' | 'generation' | 'spec'>;

export interface WorkContext {
  readonly records: VolumeRecords;
  readonly backends: Backends;
  readonly times: VolumeTimes;
  /** Whether a unit that is not over mounts the volume. */
  readonly isInUse: (name: string) => boolean;
  readonly borrow: <T>(from: { readonly borrower: WantedVolume; readonly volume: string }, use: (path: string) => Promise<T>) => Promise<T>;
  readonly isRefused: PreparationOptions['isRefused'];
  readonly report: (volume: WantedVolume, status: NodeVolumeStatus) => void;
  readonly signal: AbortSignal;
}

/** Brings one volume to the state that the control plane wants, and keeps it there until the signal aborts or nothing of it is left. */
export class VolumeWork {
  readonly #context: WorkContext;
  #wanted: WantedVolume;
  #interrupt = new AbortController();
  /** Ends a preparation whose result nobody wants any more. */
  readonly #cancel = new AbortController();
  #path: string | undefined;
  #isLent = false;
  #isLeaving = false;
  #attempts = 0;
  readonly done: Promise<void>;

  constructor(wanted: WantedVolume, context: WorkContext) {
    this.#wanted = wanted;
    this.#context = context;
    this.done = this.#loop();
  }

  get wanted(): WantedVolume {
    return this.#wanted;
  }

  /** Where its files are; undefined if they cannot be used now. */
  get path(): string | undefined {
    return this.#isLeaving || this.#isLent || this.#wanted.spec.deleted ? undefined : this.#path;
  }

  want(wanted: WantedVolume): void {
    if (sameJson(wanted as never, this.#wanted as never)) return;
    this.#wanted = wanted;
    if (wanted.spec.deleted) this.#cancel.abort();
    this.#interrupt.abort();
  }

  /** Something has changed that the volume may wait for, such as the end of a unit. */
  wake(): void {
    this.#interrupt.abort();
  }

  /** Gives its files to a function. Units cannot mount them meanwhile. */
  async lend<T>(use: (path: string) => Promise<T>): Promise<T> {
    const { path } = this;
    if (path === undefined) throw new VolumeProblem('SourceUnavailable', 'the storage that is to be copied is not ready on this node');
    if (this.#context.isInUse(this.#wanted.name))
      throw new VolumeProblem('SourceInUse', 'the storage that is to be copied is mounted by a unit; it is copied when the unit has ended');
    this.#isLent = true;
    try {
      return await use(path);
    } finally {
      this.#isLent = false;
      this.wake();
    }
  }

  async #loop(): Promise<void> {
    const { signal, times } = this.#context;
    let failures = 0;
    while (!signal.aborted) {
      this.#interrupt = new AbortController();
      const interrupted = AbortSignal.any([signal, this.#interrupt.signal]);
      const { recover } = this.#wanted.spec;
      try {
        if (this.#wanted.spec.deleted) {
          if (await this.#remove()) return;
          await pause(times.retryDelay, interrupted);
          continue;
        }
        await this.#ensure();
        failures = 0;
        await pause(times.usageInterval, interrupted);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#cancel.signal.aborted && !this.#isLeaving) continue;
        const problem = asVolumeProblem(error);
        const isFinal = problem.isFinal || (problem.reason === 'DownloadFailed' && ++this.#attempts >= mostDownloads);
        this.#say(problem, isFinal);
        if (!isFinal) {
          await pause(Math.min(times.retryDelay * 2 ** Math.min(failures++, 20), times.longestRetryDelay), interrupted);
          continue;
        }
        while (!signal.aborted && !this.#wanted.spec.deleted && this.#wanted.spec.recover === recover) {
          await pause(Number.POSITIVE_INFINITY, AbortSignal.any([signal, this.#interrupt.signal]));
          this.#interrupt = new AbortController();
          this.#say(problem, isFinal);
        }
        this.#attempts = 0;
      }
    }
  }

  async #ensure(): Promise<void> {
    const { records, backends, isRefused, borrow, signal } = this.#context;
    const wanted = this.#wanted;
    const { name, spec } = wanted;
    let record = await records.read(name);
    if (record === undefined) {
      record = { version: 1, ...wanted, backend: backends.preferred.name, size: spec.size, recovered: spec.recover, prepared: false };
      await records.write(record);
    }
    if (!isSameOwner(record, wanted))
      throw new VolumeProblem('NodeProblem', 'the node has files of another owner under this name', { isFinal: true });
    const backend = backends.of(record.backend);
    if (backend === undefined)
      throw new VolumeProblem(
        'NodeProblem',
        `the volume is a ${record.backend} volume, which this agent cannot use: ${backends.preferred.unlimited}`,
      );
    const folder = records.folder(name);
    await backend.create(folder, record.size);
    const root = await backend.open(folder, { repair: spec.recover > record.recovered });
    if (!(await exists(dataIn(root)))) {
      if (record.prepared && spec.recover <= record.recovered)
        throw new VolumeProblem('FileSystemDamaged', 'the files of the storage are gone; recover it to begin anew', { isFinal: true });
      this.#report('Preparing', {});
      await prepareFiles(root, spec.prepare, {
        limit: record.size,
        borrow: (volume, use) => borrow({ borrower: wanted, volume }, use),
        isRefused,
        signal: AbortSignal.any([signal, this.#cancel.signal]),
      });
    }
    this.#path = dataIn(root);
    const next: VolumeRecord = { ...record, ...wanted, recovered: Math.max(record.recovered, spec.recover), prepared: true };
    if (!sameJson(next as never, record as never)) await records.write(next);
    if (next.size < spec.size) {
      this.#report('Resizing', await this.#facts(backend, folder));
      await this.#grow(backend, folder);
      await records.write({ ...next, size: spec.size });
    }
    this.#report('Ready', await this.#facts(backend, folder));
  }

  async #grow(backend: VolumeBackend, folder: string): Promise<void> {
    const { name, spec } = this.#wanted;
    const isIdle = !this.#isLent && !this.#context.isInUse(name);
    if (!isIdle) return backend.grow(folder, spec.size, { isIdle });
    await this.lend(() => backend.grow(folder, spec.size, { isIdle }));
  }

  async #facts(backend: VolumeBackend, folder: string): Promise<Partial<NodeVolumeStatus>> {
    const { unlimited } = backend;
    const usage = await backend.usage(folder);
    return {
      ...usage,
      enforced: unlimited === undefined,
      ...(unlimited !== undefined && { message: `the size is not enforced: ${unlimited}` }),
    };
  }

  /** Whether nothing is left. */
  async #remove(): Promise<boolean> {
    const { records, backends, isInUse } = this.#context;
    const { name } = this.#wanted;
    // Nothing can begin to use it from here on: both are known before the first wait.
    if (this.#isLent || (!this.#isLeaving && isInUse(name))) {
      this.#report('Ready', { reason: 'InUse', message: 'a unit on the node still uses the volume' });
      return false;
    }
    this.#isLeaving = true;
    const record = await records.read(name);
    if (record !== undefined) {
      if (!isSameOwner(record, this.#wanted))
        throw new VolumeProblem('NodeProblem', 'the node has files of another owner under this name', { isFinal: true });
      await records.write({ ...record, ...this.#wanted });
      const backend = backends.of(record.backend);
      if (backend === undefined)
        throw new VolumeProblem('NodeProblem', `this agent cannot delete a ${record.backend} volume: ${backends.preferred.unlimited}`);
      await backend.remove(records.folder(name));
      await records.remove(name);
    }
    this.#report('Deleted', {});
    return true;
  }

  /** A volume that can be used stays so while something about it fails, such as its growth. */
  #say({ reason, message }: VolumeProblem, isFinal: boolean): void {
    const phase: NodeVolumePhase =
      this.#path !== undefined && !isFinal && !this.#wanted.spec.deleted ? 'Resizing' : isFinal ? 'Failed' : 'Pending';
    this.#report(phase, { reason, message: message.slice(0, 1024), recoverable: isFinal });
  }

  #report(phase: NodeVolumePhase, more: Partial<NodeVolumeStatus>): void {
    this.#context.report(this.#wanted, { phase, observedGeneration: this.#wanted.generation, ...more });
  }
}

/** The UID may differ: a storage of the same name takes over what was retained. */
function isSameOwner({ spec }: VolumeRecord, { spec: other }: WantedVolume): boolean {
  const [one, two] = [spec.owner, other.owner];
  return one.cluster === two.cluster && one.namespace === two.namespace && one.name === two.name;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function pause(time: number, signal: AbortSignal): Promise<void> {
  if (time !== Number.POSITIVE_INFINITY) await sleep(time, undefined, { signal }).catch(() => {});
  else if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

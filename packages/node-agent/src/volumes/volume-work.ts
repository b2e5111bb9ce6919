import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeVolumePhase, NodeVolumeStatus } from '@capstan/api';
import { sameJson } from '@capstan/machinery';
import type { BackendName, VolumeBackend } from './backends/backend.ts';
import type { Backends } from './backends/choice.ts';
import { SharedBackend } from './backends/shared.ts';
import { Lending, type LendOptions, type Lent } from './lending.ts';
import { dataIn, type PreparationOptions, prepareFiles } from './preparation/prepare.ts';
import { asVolumeProblem, VolumeProblem } from './problem.ts';
import type { VolumeRecord, VolumeRecords } from './records.ts';
import type { SharedDirectories } from './shared/directories.ts';
import { mostDownloads, type VolumeTimes } from './times.ts';

/** A volume as the control plane wants it. */
export type WantedVolume = Pick<VolumeRecord, 'name' | 'uid' | 'generation' | 'spec'>;

export interface WorkContext {
  readonly records: VolumeRecords;
  readonly backends: Backends;
  readonly directories: SharedDirectories;
  readonly times: VolumeTimes;
  /** Whether a unit that is not over mounts the volume. */
  readonly isInUse: (name: string) => boolean;
  readonly borrow: <T>(from: Borrowed, use: (lent: Lent) => Promise<T>) => Promise<T>;
  readonly isRefused: PreparationOptions['isRefused'];
  readonly images?: PreparationOptions['images'];
  readonly report: (volume: WantedVolume, status: NodeVolumeStatus) => void;
  readonly signal: AbortSignal;
}

export interface Borrowed extends LendOptions {
  readonly borrower: WantedVolume;
  readonly volume: string;
}

/** Brings one volume to the state that the control plane wants, and keeps it there until the signal aborts or nothing of it is left. */
export class VolumeWork {
  readonly #context: WorkContext;
  #wanted: WantedVolume;
  #interrupt = new AbortController();
  /** Ends a preparation whose result nobody wants any more. */
  readonly #cancel = new AbortController();
  #opened: { readonly path: string; readonly folder: string; readonly backend: VolumeBackend } | undefined;
  readonly #lending = new Lending();
  /** For a volume in a shared directory. */
  readonly #shared: VolumeBackend | undefined;
  /** A snapshot could not be copied in the time that programs may wait. */
  #needsIdleSource = false;
  #isLeaving = false;
  #attempts = 0;
  readonly done: Promise<void>;

  constructor(wanted: WantedVolume, context: WorkContext) {
    this.#wanted = wanted;
    this.#context = context;
    const { name, spec } = wanted;
    const { directory, owner } = spec;
    this.#shared = directory && new SharedBackend(() => context.directories.folderOf(directory, owner, name));
    this.done = this.#loop();
  }

  get wanted(): WantedVolume {
    return this.#wanted;
  }

  /** Where its files are; undefined if they cannot be used now. */
  get path(): string | undefined {
    const isBusy = this.#lending.isLent && !this.isSnapshot;
    return this.#isLeaving || isBusy || this.#wanted.spec.deleted ? undefined : this.#opened?.path;
  }

  /** Its files never change. */
  get isSnapshot(): boolean {
    return this.#wanted.spec.snapshotOf !== undefined;
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
  async lend<T>(use: (lent: Lent) => Promise<T>, options: LendOptions = {}): Promise<T> {
    // Units on other nodes may write to a shared directory at any time.
    const opened = this.path === undefined || this.#shared !== undefined ? undefined : this.#opened;
    const isInUse = this.#context.isInUse(this.#wanted.name);
    try {
      return await this.#lending.lend(opened && { ...opened, isInUse, isFixed: this.isSnapshot }, use, options);
    } finally {
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
    const { records, backends, isRefused, images, borrow, signal } = this.#context;
    const wanted = this.#wanted;
    const { name, spec } = wanted;
    let record = await records.read(name);
    if (record === undefined) {
      record = {
        version: 1,
        ...wanted,
        backend: await this.#backendFor(wanted),
        size: spec.size,
        recovered: spec.recover,
        prepared: false,
      };
      await records.write(record);
    }
    if (!isSameOwner(record, wanted))
      throw new VolumeProblem('NodeProblem', 'the node has files of another owner under this name', { isFinal: true });
    const backend = this.#shared ?? backends.of(record.backend);
    if (backend === undefined)
      throw new VolumeProblem('NodeProblem', `the volume is a ${record.backend} volume, which this agent cannot use: ${whyNot(backends)}`);
    const folder = records.folder(name);
    if (this.isSnapshot) record = await this.#take(record, backend);
    else await backend.create(folder, record.size);
    const root = await backend.open(folder, { repair: spec.recover > record.recovered, readOnly: this.isSnapshot });
    if (!(await exists(dataIn(root)))) {
      if (this.isSnapshot) throw new VolumeProblem('FileSystemDamaged', 'the files of the snapshot are gone', { isFinal: true });
      if (record.prepared && spec.recover <= record.recovered)
        throw new VolumeProblem('FileSystemDamaged', 'the files of the storage are gone; recover it to begin anew', { isFinal: true });
      this.#report('Preparing', {});
      await prepareFiles(root, spec.prepare, {
        limit: record.size,
        borrow: (volume, use) => borrow({ borrower: wanted, volume }, ({ path }) => use(path)),
        isRefused,
        images,
        signal: AbortSignal.any([signal, this.#cancel.signal]),
      });
    }
    this.#opened = { path: dataIn(root), folder, backend };
    const next: VolumeRecord = { ...record, ...wanted, recovered: Math.max(record.recovered, spec.recover), prepared: true };
    if (!sameJson(next as never, record as never)) await records.write(next);
    if (next.size < spec.size) {
      if (!this.isSnapshot) {
        this.#report('Resizing', await this.#facts(backend, folder));
        await this.#grow(backend, folder);
      }
      await records.write({ ...next, size: spec.size });
    }
    const { takenAt } = next;
    // It may be wanted otherwise by now.
    this.#report('Ready', { ...(await this.#facts(backend, folder)), ...(takenAt !== undefined && { takenAt }) }, wanted);
  }

  /** The backend of a snapshot is that of its source. */
  async #backendFor({ spec }: WantedVolume): Promise<BackendName> {
    const { backends, records } = this.#context;
    if (this.#shared !== undefined) return this.#shared.name;
    if (spec.snapshotOf === undefined) return backends.preferred.name;
    const source = await records.read(spec.snapshotOf);
    if (source === undefined) throw new VolumeProblem('SourceUnavailable', 'the storage is not on this node');
    return source.backend;
  }

  /** Copies the source, once. The moment is recorded before the copy counts. */
  async #take(record: VolumeRecord, backend: VolumeBackend): Promise<VolumeRecord> {
    const { records, borrow, signal } = this.#context;
    const { name, spec } = this.#wanted;
    const folder = records.folder(name);
    if (await backend.exists(folder)) return record;
    if (record.prepared) throw new VolumeProblem('FileSystemDamaged', 'the files of the snapshot are gone', { isFinal: true });
    this.#report('Preparing', {});
    const from = { borrower: this.#wanted, volume: spec.snapshotOf ?? '', evenInUse: !this.#needsIdleSource };
    return borrow(from, async (source) => {
      const next = { ...record, takenAt: new Date().toISOString() };
      await records.write(next);
      const { isIdle } = source;
      const options = { limit: spec.size, isIdle, signal: AbortSignal.any([signal, this.#cancel.signal]) };
      await backend.snapshot(source.folder, folder, options).catch((error: unknown) => {
        this.#needsIdleSource = error instanceof VolumeProblem && error.reason === 'SourceInUse';
        throw error;
      });
      return next;
    });
  }

  async #grow(backend: VolumeBackend, folder: string): Promise<void> {
    const { name, spec } = this.#wanted;
    if (this.#shared !== undefined) return backend.grow(folder, spec.size, { isIdle: false });
    const isIdle = !this.#lending.isLent && !this.#context.isInUse(name);
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
    if (this.#lending.isLent || (!this.#isLeaving && isInUse(name))) {
      this.#report('Ready', { reason: 'InUse', message: 'a unit on the node still uses the volume' });
      return false;
    }
    this.#isLeaving = true;
    const record = await records.read(name);
    if (record !== undefined) {
      if (!isSameOwner(record, this.#wanted))
        throw new VolumeProblem('NodeProblem', 'the node has files of another owner under this name', { isFinal: true });
      await records.write({ ...record, ...this.#wanted });
      const backend = this.#shared ?? backends.of(record.backend);
      if (backend === undefined)
        throw new VolumeProblem('NodeProblem', `this agent cannot delete a ${record.backend} volume: ${whyNot(backends)}`);
      await backend.remove(records.folder(name));
      await records.remove(name);
    }
    this.#report('Deleted', {});
    return true;
  }

  /** A volume that can be used stays so while something about it fails, such as its growth. */
  #say({ reason, message }: VolumeProblem, isFinal: boolean): void {
    const phase: NodeVolumePhase =
      this.#opened !== undefined && !isFinal && !this.#wanted.spec.deleted ? 'Resizing' : isFinal ? 'Failed' : 'Pending';
    this.#report(phase, { reason, message: message.slice(0, 1024), recoverable: isFinal });
  }

  #report(phase: NodeVolumePhase, more: Partial<NodeVolumeStatus>, wanted = this.#wanted): void {
    this.#context.report(wanted, { phase, observedGeneration: wanted.generation, ...more });
  }
}

/** The UID may differ: a storage of the same name takes over what was retained. */
function isSameOwner({ spec }: VolumeRecord, { spec: other }: WantedVolume): boolean {
  const [one, two] = [spec.owner, other.owner];
  return one.cluster === two.cluster && one.namespace === two.namespace && one.name === two.name;
}

const whyNot = ({ why, preferred }: Backends): string => why ?? preferred.unlimited ?? 'the machine has changed';

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function pause(time: number, signal: AbortSignal): Promise<void> {
  if (time !== Number.POSITIVE_INFINITY) await sleep(time, undefined, { signal }).catch(() => {});
  else if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeVolume, type NodeVolumeStatus, nodeNamespace, nodeVolumeKind, type SharedDirectory } from '@capstan/api';
import { type Client, Informer } from '@capstan/client';
import { type BackoffOptions, sameJson, Trouble } from '@capstan/machinery';
import { agentWatch } from '../control-plane/watches.ts';
import { spareOf } from '../disks/space.ts';
import { StatusReports } from '../reporting/status-reports.ts';
import type { StorageFolders } from '../units/engine/room.ts';
import { type Backends, chooseBackends, limitsOf, type VolumeLimits } from './backends/choice.ts';
import { VolumeEngine } from './engine.ts';
import { isRefused } from './preparation/addresses.ts';
import type { ImageSource } from './preparation/prepare.ts';
import { VolumeRecords } from './records.ts';
import { type DeclaredDirectory, SharedDirectories } from './shared/directories.ts';
import { defaultVolumeTimes, type VolumeTimes } from './times.ts';

export interface VolumeOptions {
  readonly backends?: Backends;
  readonly times?: Partial<VolumeTimes>;
  /** Directories that several nodes share. */
  readonly directories?: readonly DeclaredDirectory[];
}

export interface VolumeRunnerOptions extends VolumeOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly stateDirectory: string;
  /** Whether a unit that is not over mounts a volume. */
  readonly isInUse: (volume: string) => boolean;
  /** Undefined if this machine has no engine for images. */
  readonly images?: ImageSource | undefined;
  readonly backoff: BackoffOptions;
  /** The shared directories have changed. */
  readonly onDirectories?: () => void;
  readonly log: (line: string) => void;
}

/** Keeps the NodeVolumes of this machine. */
export class VolumeRunner implements AsyncDisposable {
  readonly #options: VolumeRunnerOptions;
  readonly #engine: VolumeEngine;
  readonly #reports: StatusReports<NodeVolumeStatus>;
  readonly #directories: SharedDirectories;
  #shared: readonly SharedDirectory[] = [];
  /** How the sizes of local volumes are limited here. */
  readonly limits: VolumeLimits;

  private constructor(
    options: VolumeRunnerOptions,
    parts: { engine: VolumeEngine; reports: StatusReports<NodeVolumeStatus>; directories: SharedDirectories; limits: VolumeLimits },
  ) {
    this.#options = options;
    this.#engine = parts.engine;
    this.#reports = parts.reports;
    this.#directories = parts.directories;
    this.limits = parts.limits;
  }

  /** Resolves when the volumes of the records are being mounted again. */
  static async open(options: VolumeRunnerOptions): Promise<VolumeRunner> {
    const { client, node, stateDirectory, isInUse, backoff, log } = options;
    const reports = new StatusReports<NodeVolumeStatus>({
      kind: nodeVolumeKind,
      words: { one: 'volume', many: 'volumes' },
      client,
      node,
      backoff,
      log,
    });
    const directories = new SharedDirectories(options.directories ?? [], log);
    const directory = join(stateDirectory, 'storages');
    const backends = options.backends ?? (await chooseBackends({ directory, spare: spareOf }));
    const engine = new VolumeEngine({
      directories,
      records: new VolumeRecords(directory),
      backends,
      times: { ...defaultVolumeTimes, ...options.times },
      isInUse,
      isRefused,
      images: options.images,
      report: (volume, status) => reports.report(volume, status),
      log,
    });
    await engine.resume();
    const runner = new VolumeRunner(options, { engine, reports, directories, limits: limitsOf(backends) });
    runner.#shared = await directories.inspect();
    return runner;
  }

  /** For units. */
  get folders(): StorageFolders {
    return this.#engine;
  }

  /** The shared directories of this machine that can be used, as they were seen last. */
  get sharedDirectories(): readonly SharedDirectory[] {
    return this.#shared;
  }

  /** Looks at the shared directories again and again: they may be mounted later, or be another one. */
  async #inspectDirectories(signal: AbortSignal): Promise<void> {
    const { usageInterval } = { ...defaultVolumeTimes, ...this.#options.times };
    while (!this.#directories.isEmpty && !signal.aborted) {
      await sleep(usageInterval, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const found = await this.#directories.inspect();
      if (sameJson(found as never, this.#shared as never)) continue;
      this.#shared = found;
      this.#options.onDirectories?.();
    }
  }

  /** Follows the NodeVolumes of the control plane until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, node, log } = this.#options;
    const trouble = new Trouble({
      log,
      begins: (why) => `the volumes of this node cannot be read: ${why}`,
      lasts: (why, { duration }) => `the volumes of this node could not be read for ${duration}: ${why}`,
      ends: ({ duration }) => `the volumes of this node can be read again after ${duration}`,
      now: () => performance.now(),
    });
    const informer = new Informer<NodeVolume>({
      resource: client.resource<NodeVolume>(nodeVolumeKind).in(nodeNamespace(node)),
      ...agentWatch,
      onError: (error) => trouble.report(error instanceof Error ? error.message : String(error), 'watch'),
      onRecovered: () => trouble.clear('watch'),
    });
    using _followed = informer.onChange(({ type, object }) => {
      if (type === 'deleted') {
        this.#reports.forget(object.metadata.name ?? '');
        this.#engine.forget(object.metadata.name ?? '');
        return;
      }
      this.#reports.observe(object);
      this.#engine.accept(object);
    });
    await Promise.all([informer.start(signal), this.#inspectDirectories(signal)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
    await this.#reports[Symbol.asyncDispose]();
  }
}

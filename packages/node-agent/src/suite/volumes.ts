import { type NodeVolume, type NodeVolumeSpec, type NodeVolumeStatus, nodeVolumeKind } from '@capstan/api';
import { expect, vi } from 'vitest';
import type { Backends } from '../volumes/backends/choice.ts';
import { VolumeEngine } from '../volumes/engine.ts';
import type { ImageSource } from '../volumes/preparation/prepare.ts';
import { VolumeRecords } from '../volumes/records.ts';
import { type DeclaredDirectory, SharedDirectories } from '../volumes/shared/directories.ts';

export const owner = { cluster: 'tenant', namespace: 'default', name: 'data', uid: 'u' };
const patience = { timeout: 20_000, interval: 20 };

export function volumeOf(name: string, spec: Partial<NodeVolumeSpec> = {}): NodeVolume {
  return {
    apiVersion: `${nodeVolumeKind.group}/${nodeVolumeKind.version}`,
    kind: nodeVolumeKind.kind,
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec: { owner: { ...owner, name }, size: 32 * 2 ** 20, recover: 0, retained: false, deleted: false, ...spec },
  };
}

export interface TestVolumesOptions {
  readonly directory: string;
  readonly backends: Backends;
  readonly directories?: readonly DeclaredDirectory[];
  readonly isInUse?: (name: string) => boolean;
  readonly isRefused?: (address: string) => boolean;
  readonly images?: ImageSource;
}

/** An engine without a control plane. */
export class TestVolumes implements AsyncDisposable {
  readonly engine: VolumeEngine;
  readonly statuses = new Map<string, NodeVolumeStatus[]>();
  readonly lines: string[] = [];

  constructor({ directory, backends, directories = [], isInUse = () => false, isRefused = () => false, images }: TestVolumesOptions) {
    this.engine = new VolumeEngine({
      records: new VolumeRecords(directory),
      backends,
      directories: new SharedDirectories(directories, (line) => void this.lines.push(line)),
      times: { usageInterval: 20, retryDelay: 10, longestRetryDelay: 50 },
      isInUse,
      isRefused,
      images,
      report: ({ name }, status) => void this.statuses.set(name, [...(this.statuses.get(name) ?? []), status]),
      log: (line) => void this.lines.push(line),
    });
  }

  static async start(options: TestVolumesOptions): Promise<TestVolumes> {
    const volumes = new TestVolumes(options);
    await volumes.engine.resume();
    return volumes;
  }

  last(name: string): NodeVolumeStatus | undefined {
    return this.statuses.get(name)?.at(-1);
  }

  async becomes(name: string, status: Partial<NodeVolumeStatus>): Promise<void> {
    await vi.waitFor(() => expect(this.last(name)).toMatchObject(status), patience);
  }

  /** Creates or changes a volume, waits until it is ready, and returns its path. */
  async ready(volume: NodeVolume): Promise<string> {
    const { name = '', generation = 0 } = volume.metadata;
    this.engine.accept(volume);
    await this.becomes(name, { phase: 'Ready', observedGeneration: generation });
    return (await this.engine.pathOf(name, volume.spec.owner, { readOnly: true }))!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine[Symbol.asyncDispose]();
  }
}

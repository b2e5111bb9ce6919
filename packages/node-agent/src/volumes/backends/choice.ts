import { mkdir } from 'node:fs/promises';
import { whyNoLoops } from '../../disks/loops.ts';
import type { BackendName, VolumeBackend } from './backend.ts';
import { FolderBackend } from './folder.ts';
import { LoopBackend, type LoopOptions, loopPrograms } from './loop.ts';
import { ProjectBackend } from './project.ts';
import { findProjectQuota, type ProjectQuota } from './project-quota.ts';

export interface Backends {
  /** For new volumes. */
  readonly preferred: VolumeBackend;
  /** That of an existing volume; undefined if this agent cannot use it. */
  of(name: BackendName): VolumeBackend | undefined;
  /** Why the preferred one is not a better one. */
  readonly why?: string;
}

export interface ChooseOptions extends LoopOptions {
  /** Holds the volumes. */
  readonly directory: string;
  readonly findQuota?: typeof findProjectQuota;
}

/** Finds out which backends this machine can use: project quotas, else loop files, else plain folders. */
export async function chooseBackends({ directory, findQuota, ...options }: ChooseOptions): Promise<Backends> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { quota, loop, why } = await examineVolumes(directory, findQuota);
  const parts = {
    project: typeof quota === 'string' ? undefined : new ProjectBackend({ ...options, quota }),
    loop: loop === undefined ? new LoopBackend(options) : undefined,
    folder: new FolderBackend(loop ?? 'the volume was made by an agent that could not limit it'),
    shared: undefined,
  };
  return { preferred: parts.project ?? parts.loop ?? parts.folder, of: (name) => parts[name], ...(why !== undefined && { why }) };
}

export interface VolumeLimits {
  readonly kind: 'ProjectQuotas' | 'LoopFiles' | 'None';
  readonly why?: string;
}

export const limitsOf = ({ preferred: { name }, why }: Backends): VolumeLimits => ({
  kind: name === 'project' ? 'ProjectQuotas' : name === 'loop' ? 'LoopFiles' : 'None',
  ...(why !== undefined && { why }),
});

/** How an agent whose volumes are in this folder would limit their sizes. */
export async function examineLimits(directory: string): Promise<VolumeLimits> {
  const { quota, loop, why } = await examineVolumes(directory);
  const kind = typeof quota !== 'string' ? 'ProjectQuotas' : loop === undefined ? 'LoopFiles' : 'None';
  return { kind, ...(why !== undefined && { why }) };
}

interface Examined {
  readonly quota: ProjectQuota | string;
  /** Why there are no loop files. */
  readonly loop: string | undefined;
  readonly why: string | undefined;
}

async function examineVolumes(directory: string, findQuota = findProjectQuota): Promise<Examined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    const general = await whyNoLoop();
    return { quota: general ?? '', loop: general, why: general };
  }
  const quota = await findQuota(directory);
  const loop = await whyNoLoop();
  if (typeof quota !== 'string') return { quota, loop, why: undefined };
  return { quota, loop, why: [quota, ...(loop === undefined ? [] : [loop])].join('; ') };
}

/** Why there are no volumes in loop files here. */
export const whyNoLoop = (): Promise<string | undefined> => whyNoLoops(loopPrograms);

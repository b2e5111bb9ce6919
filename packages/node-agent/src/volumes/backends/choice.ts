import { access } from 'node:fs/promises';
import { missingProgram } from '../programs.ts';
import type { BackendName, VolumeBackend } from './backend.ts';
import { FolderBackend } from './folder.ts';
import { LoopBackend, type LoopOptions, loopPrograms } from './loop.ts';

export interface Backends {
  /** For new volumes. */
  readonly preferred: VolumeBackend;
  /** That of an existing volume; undefined if this agent cannot use it. */
  of(name: BackendName): VolumeBackend | undefined;
}

/** Finds out which backends this machine can use. */
export async function chooseBackends(options: LoopOptions): Promise<Backends> {
  const why = await whyNoLoop();
  const folder = new FolderBackend(why ?? 'the volume was made by an agent that could not limit it');
  const loop = why === undefined ? new LoopBackend(options) : undefined;
  return { preferred: loop ?? folder, of: (name) => (name === 'folder' ? folder : loop) };
}

/** Why volumes cannot be limited here. */
export async function whyNoLoop(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'volumes have limits on Linux only';
  if (process.getuid?.() !== 0) return 'the agent does not run as root';
  const missing = await missingProgram(loopPrograms);
  if (missing !== undefined) return `${missing} is missing on the node`;
  return access('/dev/loop-control').then(
    () => undefined,
    () => 'the node has no loop devices: modprobe loop',
  );
}

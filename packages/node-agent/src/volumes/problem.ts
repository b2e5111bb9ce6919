import type { VolumeReason } from '@capstan/api';
import { NoSpace } from '../disks/space.ts';

/** Why a volume cannot be what it should be. Final problems stay until the control plane asks for another try. */
export class VolumeProblem extends Error {
  override readonly name = 'VolumeProblem';
  readonly reason: VolumeReason;
  readonly isFinal: boolean;

  constructor(reason: VolumeReason, message: string, options: { readonly isFinal?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.isFinal = options.isFinal ?? false;
  }
}

const full: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

export function asVolumeProblem(error: unknown): VolumeProblem {
  if (error instanceof VolumeProblem) return error;
  if (error instanceof NoSpace) return new VolumeProblem('DiskFull', error.message, { cause: error });
  const { code, message } = error as NodeJS.ErrnoException;
  if (full.has(code)) return new VolumeProblem('DiskFull', 'the disk of the node is full', { cause: error });
  return new VolumeProblem('NodeProblem', message ?? String(error), { cause: error });
}

import { ProgramError, runProgram } from '../../disks/programs.ts';

/** Exit codes of the script; that of `timeout` is 124. */
const [cannotFreeze, wasThawed, tookTooLong] = [97, 98, 124];

/**
 * Writes wait while the copy is made. The script thaws the file system whatever happens to the copy or to this process; a file system that somebody else has thawed
 * meanwhile has changed.
 */
const script = `
  fsfreeze --freeze "$1" || exit ${cannotFreeze}
  trap 'kill "$child" 2>/dev/null' TERM INT
  { cp --reflink=always "$2" "$3" 2>/dev/null || exec timeout "$4" e2image -raf "$2" "$3"; } &
  child=$!
  wait "$child"
  code=$?
  fsfreeze --unfreeze "$1" || exit ${wasThawed}
  exit "$code"
`;

export interface FrozenCopy {
  /** Where the file system of the image is mounted. */
  readonly point: string;
  readonly image: string;
  readonly copy: string;
  /** In seconds: how long writes may wait. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export type FrozenCopyResult = 'copied' | 'cannotFreeze' | 'tookTooLong';

/** Copies the image of a mounted ext4 file system as it is at one moment. Blocks that no file has are left out; the others are shared where the disk can. */
export async function copyFrozen({ point, image, copy, limit, signal }: FrozenCopy): Promise<FrozenCopyResult> {
  const words = ['-c', script, 'snapshot', point, image, copy, String(limit)];
  try {
    await runProgram('sh', words, { signal });
    return 'copied';
  } catch (error) {
    const code = error instanceof ProgramError ? error.code : undefined;
    if (code === cannotFreeze) return 'cannotFreeze';
    if (code === tookTooLong) return 'tookTooLong';
    throw error;
  }
}

/** Ends what an agent has left that was killed in the middle of a copy. */
export async function thaw(point: string): Promise<void> {
  await runProgram('fsfreeze', ['--unfreeze', point]).catch(() => {});
}

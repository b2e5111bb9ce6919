import { readFile, rename, writeFile } from 'node:fs/promises';
import { fieldsOf, isObject } from '@capstan/machinery';

/** How much of the output of one run of a program the control plane has. */
export interface Progress {
  /** The file that is sent at present, and the position in it; absent before the first. */
  readonly inode?: number;
  readonly position: number;
  /** Bytes of the log before it. */
  readonly offset: number;
  /** Nothing is left to send, or nobody wants it. */
  readonly done: boolean;
}

export const beginning: Progress = { position: 0, offset: 0, done: false };

/** The progress of the runs of a program, by their numbers. A file that cannot be read is a beginning: the control plane says what it has. */
export async function readProgress(file: string): Promise<Map<number, Progress>> {
  try {
    const parsed = fieldsOf(JSON.parse(await readFile(file, 'utf8')));
    return new Map(Object.entries(parsed).flatMap(([run, value]) => (isProgress(value) ? [[Number(run), value]] : [])));
  } catch {
    return new Map();
  }
}

export async function writeProgress(file: string, progress: ReadonlyMap<number, Progress>): Promise<void> {
  const fresh = `${file}.new`;
  await writeFile(fresh, JSON.stringify(Object.fromEntries(progress)), { mode: 0o600 });
  await rename(fresh, file);
}

function isProgress(value: unknown): value is Progress {
  if (!isObject(value)) return false;
  const isCount = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0;
  const { inode, position, offset, done } = value;
  return (inode === undefined || isCount(inode)) && isCount(position) && isCount(offset) && typeof done === 'boolean';
}

import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { runProgram } from './programs.ts';

/** In bytes: the platform leaves so much of a disk of this size to the machine. */
export const spareOf = (disk: number): number => Math.max(2 ** 30, disk / 20);

/** In bytes: how much of the disk of a folder can still be given away. */
export async function freeSpace(folder: string, spare: (disk: number) => number): Promise<number> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return Math.max(0, bavail * bsize - spare(blocks * bsize));
}

/** The disk has not enough space. */
export class NoSpace extends Error {
  override readonly name = 'NoSpace';

  constructor(needed: number, free: number, what: string) {
    super(`needs ${mebibytes(needed)}, and the disk of the node has ${mebibytes(free)} left for ${what}`);
  }
}

/** Makes a file so large, with blocks that are reserved. File systems that cannot reserve get a file with holes. */
export async function reserveFile(
  file: string,
  { size, before = 0, require }: { readonly size: number; readonly before?: number; readonly require: (bytes: number) => Promise<void> },
): Promise<void> {
  await require(size - before);
  try {
    await runProgram('fallocate', ['--length', String(size), file]);
  } catch {
    await require(size - before);
    await runProgram('truncate', ['--size', String(size), file]);
  }
}

/** Rejects with NoSpace. */
export async function requireSpace(
  file: string,
  needed: number,
  { spare, what }: { readonly spare: (disk: number) => number; readonly what: string },
): Promise<void> {
  const free = await freeSpace(dirname(file), spare);
  if (needed > free) throw new NoSpace(needed, free, what);
}

export const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

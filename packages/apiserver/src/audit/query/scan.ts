import { type FileHandle, open } from 'node:fs/promises';
import { backupsOf } from '../file.ts';

/** A place in the log: everything before `offset` in this file, and in older files, has not been read. */
export interface LogPosition {
  /** Identifies a file, also after it was renamed: its number and when it was created, since numbers are used again. */
  readonly part: string;
  readonly offset: number;
}

export interface ScanOptions {
  readonly file: string;
  /** Where to go on; at the end of the newest file if undefined. */
  readonly from: LogPosition | undefined;
  /** In bytes: how much is read at most. */
  readonly budget: number;
  /**
   * Gets each line without its line break, newest first, and where it begins; returns false to stop before the next. It must not keep the bytes.
   */
  readonly visit: (line: Buffer, part: string, offset: number) => boolean;
  readonly chunkSize?: number;
}

/** The part of the log with this position was deleted. */
export class PositionGone extends Error {}

/** Lines longer than this are skipped: no event is as long. */
const longestLine = 32 << 20;
const defaultChunk = 128 << 10;

/**
 * Reads the log from its end to its beginning, in chunks, so that other requests are handled in between. Returns where to go on; undefined if everything was read.
 */
export async function scanBackwards({
  file,
  from,
  budget,
  visit,
  chunkSize = defaultChunk,
}: ScanOptions): Promise<LogPosition | undefined> {
  let left = budget;
  let position = from;
  const seen = new Set<string>();
  // The current file is opened before the others are listed: if it is rotated in between, it is met twice, and not missed.
  for await (const handle of partsOf(file)) {
    const { ino, birthtimeMs, size } = await handle.stat();
    const part = `${ino}-${birthtimeMs}`;
    if (seen.has(part)) continue;
    seen.add(part);
    if (position !== undefined && position.part !== part) continue;
    const end = position === undefined ? size : Math.min(position.offset, size);
    position = undefined;
    const stopped = await scanPart(handle, { end, budget: left, visit: (line, offset) => visit(line, part, offset), chunkSize });
    if (stopped !== undefined) return { part, offset: stopped };
    left -= end;
  }
  if (position !== undefined) throw new PositionGone();
  return undefined;
}

/** The files of the log, newest first. Each is closed when the next is asked for. */
async function* partsOf(file: string): AsyncGenerator<FileHandle, void, undefined> {
  const current = await tryOpen(file);
  try {
    const backups = await backupsOf(file);
    if (current !== undefined) yield current;
    for (const path of backups) {
      const handle = await tryOpen(path);
      if (handle === undefined) continue;
      try {
        yield handle;
      } finally {
        await handle.close();
      }
    }
  } finally {
    await current?.close();
  }
}

/** Undefined if it was rotated or deleted in the meantime. */
async function tryOpen(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the offset before which nothing has been visited; undefined if the whole part was. */
async function scanPart(
  handle: FileHandle,
  { end, budget, visit, chunkSize }: { end: number; budget: number; visit: (line: Buffer, offset: number) => boolean; chunkSize: number },
): Promise<number | undefined> {
  let at = end;
  /** The beginning of a line whose start has not been read yet. */
  let rest: Buffer[] = [];
  let restLength = 0;
  let left = budget;
  while (at > 0) {
    // At least one line, however long, so that somebody who goes on comes to an end.
    if (left <= 0 && at + restLength < end) return at + restLength;
    const length = Math.min(chunkSize, at);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at - length);
    // Somebody truncated the file.
    if (bytesRead < length) return undefined;
    at -= length;
    left -= length;
    let stop = length;
    for (let mark = buffer.lastIndexOf(0x0a, stop - 1); mark >= 0; mark = stop === 0 ? -1 : buffer.lastIndexOf(0x0a, stop - 1)) {
      const line = joined(buffer.subarray(mark + 1, stop), rest);
      rest = [];
      restLength = 0;
      stop = mark;
      // The line break before the line belongs to the line before it.
      if (line.length > 0 && !visit(line, at + mark + 1)) return at + mark + 1;
    }
    if (stop > 0 && restLength + stop <= longestLine) rest.unshift(buffer.subarray(0, stop));
    else if (stop > 0) rest = [];
    restLength += stop;
  }
  if (rest.length > 0) visit(joined(Buffer.alloc(0), rest), 0);
  return undefined;
}

const joined = (first: Buffer, rest: readonly Buffer[]): Buffer => (rest.length === 0 ? first : Buffer.concat([first, ...rest]));

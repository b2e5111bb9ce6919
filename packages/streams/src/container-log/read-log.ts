import { type FileHandle, open, stat } from 'node:fs/promises';
import { sameJson } from '@capstan/machinery';
import { LogGrowth } from './growth.ts';
import { parseLine } from './line.ts';
import type { LogOptions } from './options.ts';

/** Where the output of one run of a program is. Rotated parts come first; every line has a time and a stream in front, as in Kubernetes' CRI log format. */
export interface ContainerLog {
  readonly files: readonly string[];
  /** Whether nothing will be added. */
  readonly complete: boolean;
}

/** Where a log is now. It moves when files are rotated. */
export type LogSource = () => Promise<ContainerLog | undefined>;

/** In bytes, of one read. */
const piece = 64 << 10;
/** A line without an end is cut here, in bytes, so that it cannot fill the memory. */
const longestLine = 1 << 20;
const newline = Buffer.from('\n');

/** The log of one run of a program, without times and tags, until it ends or the signal aborts. */
export async function* readLog(source: LogSource, options: Omit<LogOptions, 'previous'>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const format = new LineFormat(options);
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const bytes of readParts(source, options, signal)) {
    const text = format.read(bytes);
    if (text.length === 0) continue;
    yield left < text.length ? text.subarray(0, left) : text;
    left -= text.length;
    if (left <= 0) return;
  }
  const rest = format.end();
  if (rest.length > 0 && left > 0) yield left < rest.length ? rest.subarray(0, left) : rest;
}

/** The bytes of all files, in order, across rotations. */
async function* readParts(
  source: LogSource,
  { follow, tailLines }: Pick<LogOptions, 'follow' | 'tailLines'>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let part: Part | undefined;
  using growth = new LogGrowth();
  try {
    for (let isFirst = true; !signal.aborted; ) {
      growth.begin();
      // In this order: everything that is written before the log is complete, or goes on in another file, is read after this.
      const listing = await list(source);
      if (part === undefined) {
        part = await openPart(listing.files, isFirst ? tailLines : undefined);
        isFirst &&= part === undefined;
      }
      let isEmpty = true;
      if (part !== undefined)
        for await (const bytes of readOn(part, signal)) {
          isEmpty = false;
          yield bytes;
        }
      const next = part && fileAfter(part, listing.files);
      if (next !== undefined) {
        const opened = await openSame(next);
        if (opened !== undefined) {
          await part!.handle.close();
          part = opened;
        }
        continue;
      }
      if (!isEmpty && follow) continue;
      if (!follow || listing.isComplete) return;
      // A file that is watched from now on may have grown before.
      if (growth.watch(listing.files.at(-1)?.path)) continue;
      await growth.wait(signal);
    }
  } finally {
    await part?.handle.close();
  }
}

interface LogFile {
  readonly path: string;
  readonly inode: number;
}

interface Part {
  readonly handle: FileHandle;
  readonly inode: number;
  position: number;
}

/** In a row: a log that rotates faster than it can be listed loses lines anyway. */
const mostTries = 20;

/** The files of a log at one moment, between two rotations. */
async function list(source: LogSource): Promise<{ readonly files: readonly LogFile[]; readonly isComplete: boolean }> {
  const look = async (): Promise<{ files: LogFile[]; isComplete: boolean }> => {
    const log = await source();
    const found = await Promise.all(
      (log?.files ?? []).map(async (path) => ({ path, inode: (await stat(path).catch(() => undefined))?.ino })),
    );
    return { files: found.flatMap(({ path, inode }) => (inode === undefined ? [] : [{ path, inode }])), isComplete: log?.complete ?? true };
  };
  let before = await look();
  for (let tries = 0; tries < mostTries; tries++) {
    const now = await look();
    if (sameJson(before.files, now.files)) return before;
    before = now;
  }
  return before;
}

async function* readOn(part: Part, signal: AbortSignal): AsyncGenerator<Buffer> {
  while (!signal.aborted) {
    const { bytesRead, buffer } = await part.handle.read(Buffer.allocUnsafe(piece), 0, piece, part.position);
    if (bytesRead === 0) return;
    part.position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The file in which a log begins, or in which its last lines do. Undefined if files have moved meanwhile. */
async function openPart(files: readonly LogFile[], tailLines: number | undefined): Promise<Part | undefined> {
  if (tailLines === undefined) return files[0] && openSame(files[0]);
  let missing = tailLines;
  for (const [index, file] of [...files.entries()].reverse()) {
    const part = await openSame(file);
    if (part === undefined) return undefined;
    const starts = await lineStarts(part, missing);
    if (starts.length >= missing || index === 0) {
      part.position = missing === 0 ? (await part.handle.stat()).size : (starts.at(-missing) ?? 0);
      return part;
    }
    missing -= starts.length;
    await part.handle.close();
  }
  return undefined;
}

/** Undefined if another file has this name by now. */
async function openSame({ path, inode }: LogFile): Promise<Part | undefined> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  if ((await handle.stat()).ino === inode) return { handle, inode, position: 0 };
  await handle.close();
  return undefined;
}

/** Undefined if this one is the last. A file that is gone was the oldest: those that are left come after it. */
function fileAfter({ inode }: Part, files: readonly LogFile[]): LogFile | undefined {
  return files[files.findIndex((file) => file.inode === inode) + 1];
}

/** Where the last lines of a file begin. A line that continues one of the file before does not count. */
async function lineStarts(part: Part, most: number): Promise<number[]> {
  let starts: number[] = [];
  let isStart = true;
  let position = 0;
  let rest: Buffer = Buffer.alloc(0);
  const none = new AbortController().signal;
  for await (const bytes of readOn({ ...part, position: 0 }, none)) {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      if (isStart) starts.push(position);
      isStart = parseLine(rest.subarray(0, end))?.isPartial !== true;
      position += end + 1;
      rest = rest.subarray(end + 1);
    }
    if (starts.length > 2 * most + 1024) starts = starts.slice(-most);
  }
  return starts;
}

/** Turns lines of the files into those that people read. */
class LineFormat {
  readonly #options: Pick<LogOptions, 'timestamps' | 'since'>;
  #rest: Buffer = Buffer.alloc(0);
  #isStart = true;
  #isSkipped = false;

  constructor(options: Pick<LogOptions, 'timestamps' | 'since'>) {
    this.#options = options;
  }

  read(bytes: Buffer): Buffer {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const parts: Buffer[] = [];
    let start = 0;
    for (let end = this.#rest.indexOf(10); end >= 0; end = this.#rest.indexOf(10, start)) {
      this.#line(this.#rest.subarray(start, end), parts);
      start = end + 1;
    }
    if (this.#rest.length - start > longestLine) {
      this.#line(this.#rest.subarray(start), parts);
      start = this.#rest.length;
    }
    this.#rest = this.#rest.subarray(start);
    return Buffer.concat(parts);
  }

  /** A last line that was cut off. */
  end(): Buffer {
    const parts: Buffer[] = [];
    if (this.#rest.length > 0) this.#line(this.#rest, parts);
    return Buffer.concat(parts);
  }

  #line(bytes: Buffer, parts: Buffer[]): void {
    const line = parseLine(bytes);
    if (line === undefined) return;
    const { timestamps, since } = this.#options;
    if (this.#isStart) {
      this.#isSkipped = since !== undefined && Date.parse(line.time) < since;
      if (timestamps && !this.#isSkipped) parts.push(Buffer.from(`${line.time} `));
    }
    this.#isStart = !line.isPartial;
    if (this.#isSkipped) return;
    parts.push(line.text);
    if (!line.isPartial) parts.push(newline);
  }
}

import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { largestLogPart } from '@capstan/api';
import type { ContainerLog } from '@capstan/streams';
import type { UnitEngine } from '../engine/engine.ts';
import { readKeptLog } from '../engine/removal.ts';
import type { UnitRecord } from '../records/record.ts';
import { beginning, type Progress, readProgress, writeProgress } from './progress.ts';

/** A part of the output of a unit. */
export interface SentPart {
  /** Name of the NodeUnit, and the number of the run of its program. */
  readonly name: string;
  readonly incarnation: number;
  readonly offset: number;
  readonly bytes: Buffer;
  /** Whether the bytes before it are lost. */
  readonly gap: boolean;
}

export interface LogSenderOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'removed' | 'driverOf'>;
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
  /** Sends a part, and returns how much the control plane has. `unwanted` if it will never take it. Rejects if it may take it later. */
  readonly send: (part: SentPart, signal: AbortSignal) => Promise<number | 'unwanted'>;
  readonly log: (line: string) => void;
  readonly now: () => number;
  /** Between two looks, in milliseconds; doubled after each failure, up to the second. */
  readonly interval: number;
  readonly longestInterval: number;
}

/** Of one unit in a row, so that none holds up the others. */
const mostParts = 16;
/** Runs of a program whose output is sent: the present one, and the one before. */
const sentRuns = 2;

/** Sends the output of units to the control plane, where it outlives this machine. It stays here as before, and is sent later if the control plane is away or full. */
export class LogSender {
  readonly #options: LogSenderOptions;
  readonly #known = new Map<string, Map<number, Progress>>();
  #isFailing = false;

  constructor(options: LogSenderOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { interval, longestInterval, log } = this.#options;
    for (let wait = interval; !signal.aborted; ) {
      try {
        await this.look(signal);
        if (this.#isFailing) log('the output of units is sent to the control plane again');
        this.#isFailing = false;
        wait = interval;
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#isFailing)
          log(`the output of units cannot be sent now, and stays here: ${error instanceof Error ? error.message : String(error)}`);
        this.#isFailing = true;
        wait = Math.min(2 * wait, longestInterval);
      }
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** One look at all units. Rejects if the control plane does not take something now. */
  async look(signal: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    const removed = engine.removed;
    const records = [...[...engine.runs].map(({ record }) => record), ...removed];
    for (const name of this.#known.keys()) if (!records.some((record) => record.name === name)) this.#known.delete(name);
    for (const record of records)
      for (let run = Math.max(0, record.incarnation - sentRuns + 1); run <= record.incarnation; run++)
        await this.#sendRun(record, run, signal);
  }

  async #sendRun(record: UnitRecord, run: number, signal: AbortSignal): Promise<void> {
    const { folder } = this.#options;
    let known = this.#known.get(record.name);
    if (known === undefined) this.#known.set(record.name, (known = await readProgress(folder(record.name))));
    const before = known.get(run) ?? beginning;
    if (before.done) return;
    const log = await this.#logOf(record, run);
    if (log === undefined) return;
    const save = async (progress: Progress): Promise<void> => {
      known.set(run, progress);
      await writeProgress(folder(record.name), known);
    };
    await this.#sendLog({ name: record.name, run, log, isKept: record.removedAt !== undefined, before, save }, signal);
  }

  async #sendLog({ name, run, log, isKept, before, save }: Sending, signal: AbortSignal): Promise<void> {
    const { send, now } = this.#options;
    const files = await filesOf(log);
    let at = isKept ? atCopy(files, before) : before;
    for (let part = 0, gap = false; part < mostParts && !signal.aborted; ) {
      const found = await nextBytes(files, at, now());
      if (found === undefined) {
        if (log.complete) await save({ ...at, done: true });
        return;
      }
      const { bytes, inode, position } = found;
      const size = await send({ name, incarnation: run, offset: at.offset, bytes, gap }, signal);
      if (size === 'unwanted') return save({ ...at, done: true });
      part++;
      // It lacks something before this part, which went to another server or was deleted there.
      const lacks = size < at.offset + bytes.length;
      if (lacks && gap) throw new Error(`the control plane has ${size} bytes of the log of ${name}, and does not take more`);
      gap = lacks;
      if (lacks) continue;
      // It may have more than this agent remembers to have sent.
      at = { inode, position: position + size - at.offset - bytes.length, offset: size, done: false };
      await save(at);
    }
  }

  async #logOf(record: UnitRecord, run: number): Promise<ContainerLog | undefined> {
    const { engine, folder } = this.#options;
    if (record.removedAt === undefined) {
      const log = await engine.driverOf(record)?.log(record.name, run);
      return log && { ...log, complete: log.complete || run < record.incarnation };
    }
    return readKeptLog(folder(record.name), run);
  }
}

interface Sending {
  readonly name: string;
  readonly run: number;
  readonly log: ContainerLog;
  /** Whether the files were put aside when the unit was removed. */
  readonly isKept: boolean;
  readonly before: Progress;
  readonly save: (progress: Progress) => Promise<void>;
}

interface LogFile {
  readonly path: string;
  readonly inode: number;
  readonly size: number;
}

/** Logs of other file systems are copied when a unit is removed, and copies are other files. */
function atCopy(files: readonly LogFile[], progress: Progress): Progress {
  const isSame = progress.inode === undefined || files.some(({ inode }) => inode === progress.inode);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  return isSame || files[0] === undefined || total < progress.offset
    ? progress
    : { ...progress, inode: files[0].inode, position: progress.offset };
}

async function filesOf({ files }: ContainerLog): Promise<LogFile[]> {
  const found = await Promise.all(files.map(async (path) => ({ path, stats: await stat(path).catch(() => undefined) })));
  return found.flatMap(({ path, stats }) => (stats === undefined ? [] : [{ path, inode: stats.ino, size: stats.size }]));
}

/** The next bytes, and where those after them are; undefined if there are none. */
async function nextBytes(
  files: readonly LogFile[],
  { inode, position }: Progress,
  now: number,
): Promise<{ readonly bytes: Buffer; readonly inode: number; readonly position: number } | undefined> {
  let index = inode === undefined ? 0 : files.findIndex((file) => file.inode === inode);
  let from = position;
  if (index < 0 && files.length > 0) {
    // It was rotated away while nothing could be sent. The notice takes the place of everything that is lost.
    const notice = `${new Date(now).toISOString()} stderr F [some output was lost before it could be sent]\n`;
    return { bytes: Buffer.from(notice), inode: files[0]!.inode, position: 0 };
  }
  for (; index >= 0 && index < files.length; index++) {
    const { bytes, size } = await readPart(files[index]!, from);
    if (bytes.length > 0) return { bytes, inode: files[index]!.inode, position: from + bytes.length };
    // The rest of a position beyond the end is in the next file.
    from = Math.max(0, from - size);
  }
  return undefined;
}

async function readPart(
  { path, inode }: Pick<LogFile, 'path' | 'inode'>,
  position: number,
): Promise<{ readonly bytes: Buffer; readonly size: number }> {
  const nothing = { bytes: Buffer.alloc(0), size: 0 };
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return nothing;
  try {
    const { ino, size } = await file.stat();
    // Another file has this name by now; the next look finds out.
    if (ino !== inode) return nothing;
    if (size <= position) return { bytes: nothing.bytes, size };
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(largestLogPart, size - position)), 0, undefined, position);
    return { bytes: buffer.subarray(0, bytesRead), size };
  } finally {
    await file.close();
  }
}

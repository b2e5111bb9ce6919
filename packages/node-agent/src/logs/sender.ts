import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { largestLogPart } from '@capstan/api';
import type { ContainerLog } from '@capstan/streams';
import { beginning, type Progress, readProgress, writeProgress } from './progress.ts';

/** The output of one run of a program. */
export interface OutputSource {
  /** Where it goes, below the path of the log store. No other source has the same. */
  readonly path: string;
  /** Says how much of it was sent. Several runs may share the file. */
  readonly progress: string;
  readonly run: number;
  /** The files may be copies of those that were sent before. */
  readonly isKept?: boolean;
  /** Undefined while there is none. */
  readonly open: () => Promise<ContainerLog | undefined>;
  /** Text that follows the output once it is complete. */
  readonly ending?: () => Promise<string>;
}

/** A part of the output of a program. */
export interface SentPart {
  readonly path: string;
  readonly offset: number;
  readonly bytes: Buffer;
  /** Whether the bytes before it are lost. */
  readonly gap: boolean;
}

export interface LogSenderOptions {
  /** Names the output in the log of the agent, such as `units`. */
  readonly of: string;
  readonly sources: () => Iterable<OutputSource>;
  /** Sends a part, and returns how much the control plane has. `unwanted` if it will never take it. Rejects if it may take it later. */
  readonly send: (part: SentPart, signal: AbortSignal) => Promise<number | 'unwanted'>;
  /** A line in place of output that was lost. */
  readonly notice: () => string;
  readonly log: (line: string) => void;
  /** Between two looks, in milliseconds; doubled after each failure, up to the second. */
  readonly interval: number;
  readonly longestInterval: number;
}

/** Of one source in a row, so that none holds up the others. */
const mostParts = 16;

/** Sends output to the control plane, where it outlives this machine. It stays here as before, and is sent later if the control plane is away or full. */
export class LogSender {
  readonly #options: LogSenderOptions;
  /** By the file of the progress. */
  readonly #known = new Map<string, Map<number, Progress>>();
  #isFailing = false;
  #busy: Promise<unknown> = Promise.resolve();

  constructor(options: LogSenderOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { interval, longestInterval, log, of } = this.#options;
    for (let wait = interval; !signal.aborted; ) {
      try {
        await this.look(signal);
        if (this.#isFailing) log(`the output of ${of} is sent to the control plane again`);
        this.#isFailing = false;
        wait = interval;
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#isFailing)
          log(`the output of ${of} cannot be sent now, and stays here: ${error instanceof Error ? error.message : String(error)}`);
        this.#isFailing = true;
        wait = Math.min(2 * wait, longestInterval);
      }
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** One look at all sources. Rejects if the control plane does not take something now. */
  look(signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      const sources = [...this.#options.sources()];
      const files = new Set(sources.map(({ progress }) => progress));
      for (const file of this.#known.keys()) if (!files.has(file)) this.#known.delete(file);
      for (const source of sources) await this.#send(source, signal);
    });
  }

  /** Sends everything of one source, before it is deleted. Rejects like `look`. */
  flush(source: OutputSource, signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      for (let left: 'more' | 'sent' = 'more'; left === 'more' && !signal.aborted; ) left = await this.#send(source, signal);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#busy.then(work);
    this.#busy = next.catch(() => {});
    return next;
  }

  async #send(source: OutputSource, signal: AbortSignal): Promise<'more' | 'sent'> {
    const { progress: file, run } = source;
    let known = this.#known.get(file);
    if (known === undefined) this.#known.set(file, (known = await readProgress(file)));
    const before = known.get(run) ?? beginning;
    if (before.done) return 'sent';
    const log = await source.open();
    if (log === undefined) return 'sent';
    if (log.files.length === 0) {
      if (log.complete) known.set(run, { ...before, done: true });
      return 'sent';
    }
    const save = async (progress: Progress): Promise<void> => {
      known.set(run, progress);
      // On a full disk it is only remembered: if it is forgotten, the control plane says how much it has.
      await writeProgress(file, known).catch(() => {});
    };
    return this.#sendLog(source, { log, before, save }, signal);
  }

  async #sendLog(source: OutputSource, { log, before, save }: Sending, signal: AbortSignal): Promise<'more' | 'sent'> {
    const { send, notice } = this.#options;
    const { path } = source;
    const files = await filesOf(log);
    let at = source.isKept === true ? atCopy(files, before) : before;
    // Saved before the next part is sent, and at the end: most logs are short, and their only part is also the last.
    let isSaved = true;
    for (let part = 0, gap = false; part < mostParts && !signal.aborted; ) {
      const found = (await nextBytes(files, at, notice)) ?? (log.complete ? await endingOf(source, files, at) : undefined);
      if (found === undefined) {
        if (log.complete) await save({ ...at, done: true });
        else if (!isSaved) await save(at);
        return 'sent';
      }
      if (!isSaved) await save(at);
      isSaved = true;
      const { bytes, inode, position } = found;
      const size = await send({ path, offset: at.offset, bytes, gap }, signal);
      if (size === 'unwanted') {
        await save({ ...at, done: true });
        return 'sent';
      }
      part++;
      // It lacks something before this part, which went to another server or was deleted there.
      const lacks = size < at.offset + bytes.length;
      if (lacks && gap) throw new Error(`the control plane has ${size} bytes of the log ${path}, and does not take more`);
      gap = lacks;
      if (lacks) continue;
      // It may have more than this agent remembers to have sent.
      at = { ...(inode !== undefined && { inode }), position: position + size - at.offset - bytes.length, offset: size, done: false };
      isSaved = false;
    }
    if (!isSaved) await save(at);
    return 'more';
  }
}

interface Sending {
  readonly log: ContainerLog;
  readonly before: Progress;
  readonly save: (progress: Progress) => Promise<void>;
}

interface Found {
  readonly bytes: Buffer;
  /** The file of the bytes after these, and where they are in it. */
  readonly inode: number | undefined;
  readonly position: number;
}

/** The text after the last byte, unless it was sent before. */
async function endingOf(
  { ending }: OutputSource,
  files: readonly LogFile[],
  { inode, position, offset }: Progress,
): Promise<Found | undefined> {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const text = offset === total ? await ending?.() : undefined;
  if (text === undefined || text === '') return undefined;
  const bytes = Buffer.from(text);
  return { bytes, inode, position: position + bytes.length };
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
  notice: LogSenderOptions['notice'],
): Promise<Found | undefined> {
  let index = inode === undefined ? 0 : files.findIndex((file) => file.inode === inode);
  let from = position;
  if (index < 0 && files.length > 0) {
    // It was rotated away while nothing could be sent. The notice takes the place of everything that is lost.
    return { bytes: Buffer.from(notice()), inode: files[0]!.inode, position: 0 };
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

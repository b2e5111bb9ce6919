import { mkdir, open, readdir, rm, rmdir, stat, truncate, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type LogPlace, type LogPlaces, logFolder, ownerFolder, placeProblem, runsFolder } from './places.ts';
import { logsBelow, totalOf } from './scan.ts';

export interface LogStoreLimits {
  /** In bytes: of one run of a program, of a workspace or of the tasks of a node, and of everything. The oldest output makes way. */
  readonly log: number;
  readonly workspace: number;
  readonly total: number;
  /** In milliseconds: how long a log is kept after its last line. */
  readonly age: number;
}

export const defaultLogLimits: LogStoreLimits = { log: 16 << 20, workspace: 1 << 30, total: 10 * (1 << 30), age: 7 * 24 * 3_600_000 };

export interface LogStoreOptions {
  readonly directory: string;
  readonly limits?: Partial<LogStoreLimits> | undefined;
  /** Whether the owner of logs exists. The logs of others are deleted. */
  readonly exists: (owner: string) => boolean;
  readonly now: () => number;
}

export interface LogPart {
  /** Bytes before it. */
  readonly offset: number;
  readonly bytes: Buffer;
  /** Accept it although something before it is missing. */
  readonly gap?: boolean;
}

/** In bytes. The oldest part of a log that is too long makes way as a whole. */
const segmentSize = 1 << 20;
const mostSegments = 64;
/** Runs of a program whose output is kept. */
const keptRuns = 3;

/** A sweep leaves this part of a limit. */
const kept = 0.8;

interface Segment {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The output of units and tasks, in files of this server. What it has is a prefix of what was acknowledged: nothing waits for the disk. */
export class LogStore {
  readonly #options: LogStoreOptions;
  readonly #limits: LogStoreLimits;
  /** Appends to one log follow each other. */
  readonly #busy = new Map<string, Promise<unknown>>();
  /** Bytes by owner. */
  #sizes: Map<string, number> | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: LogStoreOptions) {
    this.#options = options;
    this.#limits = { ...defaultLogLimits, ...options.limits };
  }

  /** Appends a part, and returns the end of the log. Parts that are there already change nothing, and parts after a gap are not stored unless they say so. */
  async append(place: LogPlace, part: LogPart): Promise<number> {
    const problem = placeProblem(place) ?? (this.#options.exists(place.owner) ? undefined : 'its workspace does not exist');
    if (problem !== undefined) throw new RangeError(problem);
    await this.#makeRoom(place.owner, part.bytes.length);
    const folder = logFolder(this.#options.directory, place);
    const before = this.#busy.get(folder) ?? Promise.resolve();
    const work = before.catch(() => {}).then(() => this.#appendOrDrop(place, folder, part));
    this.#busy.set(folder, work);
    try {
      const { end, grown } = await work;
      this.#sizes?.set(place.owner, (this.#sizes.get(place.owner) ?? 0) + grown);
      return end;
    } finally {
      if (this.#busy.get(folder) === work) this.#busy.delete(folder);
    }
  }

  /** The files of a log, oldest first; undefined if there is none. */
  async files(place: LogPlace): Promise<string[] | undefined> {
    if (placeProblem(place) !== undefined) return undefined;
    const folder = logFolder(this.#options.directory, place);
    const names = await readdir(folder).catch(() => undefined);
    return names?.sort().map((name) => join(folder, name));
  }

  /** The numbers of the runs that have a log, the oldest first. */
  async runs(places: LogPlaces): Promise<number[]> {
    return placeProblem({ ...places, run: 0 }) === undefined ? runsIn(runsFolder(this.#options.directory, places)) : [];
  }

  /** The last of the names below two others, by the time of its folder; undefined if there is none. */
  async latest({ owner, names: [first, second] }: LogPlaces): Promise<string | undefined> {
    if (placeProblem({ owner, names: [first, second, 'any'], run: 0 }) !== undefined) return undefined;
    const folder = join(ownerFolder(this.#options.directory, owner), first, second);
    const names = await readdir(folder).catch(() => []);
    const found = await Promise.all(names.map(async (name) => ({ name, stats: await stat(join(folder, name)).catch(() => undefined) })));
    return found.toSorted((one, other) => (one.stats?.mtimeMs ?? 0) - (other.stats?.mtimeMs ?? 0)).at(-1)?.name;
  }

  async removeWorkspace(cluster: string): Promise<void> {
    this.#sizes?.delete(cluster);
    await rm(ownerFolder(this.#options.directory, cluster), { recursive: true, force: true });
  }

  /** Deletes what is too old, and the oldest logs of owners that have too much. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  async #makeRoom(owner: string, more: number): Promise<void> {
    if (this.#sizes === undefined) await this.sweep();
    const isFull = (): boolean =>
      (this.#sizes!.get(owner) ?? 0) + more > this.#limits.workspace || totalOf(this.#sizes!) + more > this.#limits.total;
    if (isFull()) await this.sweep();
  }

  async #sweep(most = this.#limits.total * kept, spared?: string): Promise<void> {
    const { directory, now, exists } = this.#options;
    const oldest = now() - this.#limits.age;
    const sizes = new Map<string, number>();
    const logs = (await logsBelow(directory)).sort((one, other) => one.changedAt - other.changedAt);
    for (const { owner, bytes } of logs) sizes.set(owner, (sizes.get(owner) ?? 0) + bytes);
    let total = totalOf(sizes);
    for (const { folder, owner, bytes, changedAt } of logs) {
      // Some room remains afterwards, so that not every part needs a sweep.
      const isTooMuch = sizes.get(owner)! > this.#limits.workspace * kept || total > most;
      if (folder === spared || (changedAt >= oldest && !isTooMuch && exists(owner))) continue;
      await removeLog(folder);
      sizes.set(owner, sizes.get(owner)! - bytes);
      total -= bytes;
    }
    this.#sizes = sizes;
  }

  /** If the disk is full, the oldest logs make way, and it is tried once more. */
  async #appendOrDrop(place: LogPlace, folder: string, part: LogPart): Promise<{ end: number; grown: number }> {
    try {
      return await this.#append(place, folder, part);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      await this.#sweeping;
      const total = totalOf(this.#sizes ?? new Map());
      await this.#sweep(Math.max(0, Math.min(total * kept, total - 2 * part.bytes.length)), folder);
      return this.#append(place, folder, part);
    }
  }

  async #append({ format }: LogPlace, folder: string, { offset, bytes, gap = false }: LogPart): Promise<{ end: number; grown: number }> {
    const segments = await segmentsIn(folder);
    const last = segments.at(-1);
    const end = last === undefined ? offset : last.offset + last.length;
    if ((offset > end && !gap) || offset + bytes.length <= end) return { end, grown: 0 };
    const isGap = offset > end;
    const rest = bytes.subarray(Math.max(0, end - offset));
    if (last === undefined) await this.#begin(folder);
    const begin = isGap ? offset : end;
    const isNew = last === undefined || isGap || last.length >= segmentSize;
    if (isGap) await writeFile(join(folder, `${digits(offset)}.gap`), notice(format, this.#options.now(), offset - end));
    const segment = isNew ? { path: join(folder, `${digits(begin)}.log`), offset: begin, length: 0 } : last;
    await write(segment, rest);
    const removed = await trim(isNew ? [...segments, { ...segment, length: rest.length }] : segments, this.#limits.log);
    return { end: begin + rest.length, grown: rest.length - removed };
  }

  /** The logs of former runs of the program make way. */
  async #begin(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const parent = dirname(folder);
    for (const former of (await runsIn(parent)).slice(0, -keptRuns))
      await rm(join(parent, String(former)), { recursive: true, force: true });
  }
}

/** Deletes a log, and the folders above it if they are empty. */
async function removeLog(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  let parent = folder;
  for (let level = 0; level < 3; level++) {
    parent = dirname(parent);
    if (
      !(await rmdir(parent).then(
        () => true,
        () => false,
      ))
    )
      return;
  }
}

async function write({ path, length }: Segment, bytes: Buffer): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    await file.appendFile(bytes);
  } catch (error) {
    // A full disk: a part is stored as a whole or not at all.
    await truncate(path, length).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

/** Deletes the oldest segments of a log that is too long; returns how many bytes they had. */
async function trim(segments: readonly Segment[], limit: number): Promise<number> {
  let total = segments.reduce((sum, { length }) => sum + length, 0);
  let removed = 0;
  for (const [index, { path, length }] of segments.slice(0, -1).entries()) {
    if (total <= limit && segments.length - index <= mostSegments) break;
    await unlink(path).catch(() => {});
    await unlink(path.replace(/\.log$/, '.gap')).catch(() => {});
    total -= length;
    removed += length;
  }
  return removed;
}

async function segmentsIn(folder: string): Promise<Segment[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.log')).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, offset: Number.parseInt(name, 10), length: (await stat(path)).size };
    }),
  );
}

/** In the order of their numbers. */
async function runsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((one, other) => one - other);
}

const digits = (offset: number): string => String(offset).padStart(16, '0');

/** A line of the log about bytes that are missing. */
function notice(format: LogPlace['format'], now: number, bytes: number): string {
  const text = `[${bytes} bytes of output were lost here]\n`;
  return format === 'text' ? `\n${text}` : `${new Date(now).toISOString()} stderr F ${text}`;
}

const isFullDisk = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');

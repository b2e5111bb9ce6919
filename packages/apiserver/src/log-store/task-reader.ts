import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { placesOfTask } from './places.ts';
import type { Readers } from './readers.ts';
import type { LogStore } from './store.ts';

/** The output of a task that somebody wants. */
export interface TaskQuery {
  readonly node: string;
  readonly task: string;
  /** Without it, the last task of that name. */
  readonly uid?: string | undefined;
  /** Without it, the last attempt. */
  readonly attempt?: number | undefined;
  /** Only so many lines and bytes at the end. */
  readonly tailLines?: number | undefined;
  readonly tailBytes?: number | undefined;
  /** How much output the node had, in bytes. */
  readonly bytes?: number | undefined;
  /** Whether it is of no use if the node has not sent all of it. */
  readonly isWhole?: boolean;
}

export interface TaskReaderOptions {
  readonly store: Pick<LogStore, 'files' | 'runs' | 'latest'>;
  readonly readers: Readers;
}

/** In bytes, of one read. */
const piece = 64 << 10;

/** Reads the output of tasks in the store of this server. */
export class TaskReader {
  readonly #options: TaskReaderOptions;

  constructor(options: TaskReaderOptions) {
    this.#options = options;
  }

  /** Undefined if this store has none. */
  async open(query: TaskQuery): Promise<Readable | undefined> {
    const { store, readers } = this.#options;
    const { node, task, tailLines, tailBytes, bytes, isWhole = false } = query;
    const uid = query.uid ?? (await store.latest(placesOfTask({ node, task, uid: '' })));
    if (uid === undefined) return undefined;
    const places = placesOfTask({ node, task, uid });
    const run = query.attempt ?? (await store.runs(places)).at(-1);
    const paths = run === undefined ? undefined : await store.files({ ...places, run });
    if (paths === undefined) return undefined;
    const files = await sized(paths);
    if (isWhole && missingOf(files, bytes) > 0) return undefined;
    return readers.read(textOf(files, { tailLines, tailBytes, bytes }));
  }

  /** For other API servers: `tasks/<node>/<task>?<query>`. */
  async serve(path: string): Promise<Readable | undefined> {
    const [names = '', query = ''] = path.split('?', 2);
    const [, node = '', task = ''] = names.split('/').map(decodeURIComponent);
    return this.open({ node, task, ...parsed(new URLSearchParams(query)) });
  }
}

/** Prefix of the paths of `serve`. Paths for the output of units have four parts, these have three. */
export const isTaskPath = (path: string): boolean => /^tasks\/[^/?]+\/[^/?]+(\?|$)/.test(path);

const numbers = ['attempt', 'tailLines', 'tailBytes', 'bytes'] as const;

/** The path of a query for `serve`. */
export function taskPathOf({ node, task, uid, isWhole = false, ...query }: TaskQuery): string {
  const parameters = new URLSearchParams({ ...(uid !== undefined && { uid }), ...(isWhole && { whole: 'true' }) });
  for (const name of numbers) if (query[name] !== undefined) parameters.set(name, String(query[name]));
  return `tasks/${encodeURIComponent(node)}/${encodeURIComponent(task)}?${parameters.toString()}`;
}

function parsed(query: Pick<URLSearchParams, 'get'>): Omit<TaskQuery, 'node' | 'task'> {
  const found: Partial<Record<(typeof numbers)[number], number>> = {};
  for (const name of numbers) if (query.get(name) !== null) found[name] = Number(query.get(name));
  return { uid: query.get('uid') ?? undefined, isWhole: query.get('whole') === 'true', ...found };
}

interface LogFile {
  readonly path: string;
  readonly size: number;
}

/** Files that are deleted meanwhile are left out. */
async function sized(paths: readonly string[]): Promise<LogFile[]> {
  const found = await Promise.all(paths.map(async (path) => ({ path, size: (await stat(path).catch(() => undefined))?.size })));
  return found.flatMap(({ path, size }) => (size === undefined ? [] : [{ path, size }]));
}

/** How many bytes of the output are still on the node only. */
function missingOf(files: readonly LogFile[], bytes = 0): number {
  const last = files.findLast(({ path }) => path.endsWith('.log'));
  return bytes - (last === undefined ? 0 : offsetOf(last) + last.size);
}

/** The bytes of a log that come before a file. */
const offsetOf = ({ path }: LogFile): number => Number.parseInt(basename(path), 10);

async function* textOf(
  files: readonly LogFile[],
  { tailLines, tailBytes, bytes = 0 }: Pick<TaskQuery, 'tailLines' | 'tailBytes' | 'bytes'>,
): AsyncGenerator<Buffer> {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const start = Math.max(
    tailLines === undefined ? 0 : await startOfLast(files, tailLines),
    tailBytes === undefined ? 0 : total - tailBytes,
    0,
  );
  const dropped = files[0] === undefined ? 0 : offsetOf(files[0]);
  if (start === 0 && dropped > 0) yield Buffer.from(`[${dropped} bytes of earlier output are not kept]\n`);
  let before = 0;
  for (const file of files) {
    if (before + file.size > start) yield* bytesOf(file, Math.max(0, start - before));
    before += file.size;
  }
  const missing = missingOf(files, bytes);
  if (missing > 0) yield Buffer.from(`\n[the node has not sent the last ${missing} bytes of the output]\n`);
}

async function* bytesOf({ path, size }: LogFile, from: number): AsyncGenerator<Buffer> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return;
  try {
    for (let position = from; position < size; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(piece, size - position)), 0, undefined, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Where the last lines begin, in bytes from the beginning of the first file. */
async function startOfLast(files: readonly LogFile[], lines: number): Promise<number> {
  let end = files.reduce((sum, { size }) => sum + size, 0);
  if (lines === 0) return end;
  let found = 0;
  let isLast = true;
  for (const file of files.toReversed()) {
    const parts: Buffer[] = [];
    for await (const part of bytesOf(file, 0)) parts.push(part);
    const text = Buffer.concat(parts);
    for (let index = text.length - 1; index >= 0; index--) {
      // The newline at the very end belongs to the last line.
      if (text[index] === 10 && !isLast && ++found === lines) return end - file.size + index + 1;
      isLast = false;
    }
    end -= file.size;
  }
  return 0;
}

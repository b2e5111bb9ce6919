import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RoutedRequest, refuse } from '../requests/router.ts';
import { keyOf, type TaskEngine } from './engine.ts';
import type { TaskOutput } from './output.ts';

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

const logPath = /^\/tasks\/([a-z0-9-]{1,64})\/(\d{1,4})\/log$/;
const wholeNumber = /^\d{1,9}$/;
/** In bytes, of one read. */
const piece = 64 << 10;
/** In milliseconds, between two looks at a file that grows. */
const interval = 100;

export interface TaskLogOptions {
  readonly engine: Pick<TaskEngine, 'isOpen' | 'knows'>;
  readonly outputs: TaskOutput;
}

/** Serves `GET /node/tasks/<uid>/<attempt>/log?follow=&tailLines=&tailBytes=&attempt=`. Returns false if the path is another. */
export function serveTaskLog(request: NodeRequest, { engine, outputs }: TaskLogOptions): Promise<void> | false {
  const match = logPath.exec(request.route.path);
  if (match === null) return false;
  return serve(request, { engine, outputs, uid: match[1]!, attempt: Number(match[2]) });
}

async function serve(
  request: NodeRequest,
  { engine, outputs, uid, attempt }: TaskLogOptions & { readonly uid: string; readonly attempt: number },
): Promise<void> {
  const { query } = request;
  if (request.method !== 'GET') return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: 'expected the method GET' });
  const number = (name: string): number | undefined => {
    const text = query.get(name);
    return text === null ? undefined : wholeNumber.test(text) ? Number(text) : Number.NaN;
  };
  const lines = number('tailLines');
  const bytes = number('tailBytes');
  const asked = number('attempt') ?? attempt;
  if ([lines, bytes, asked].some(Number.isNaN))
    return refuse(request, { code: 400, reason: 'BadRequest', message: 'expected whole numbers for tailLines, tailBytes and attempt' });
  const key = keyOf({ uid, attempt: asked });
  if (!engine.knows(key))
    return refuse(request, { code: 404, reason: 'NotFound', message: `this node has no output of attempt ${asked} of the task` });
  if (outputs.isExpired(key))
    return refuse(request, {
      code: 404,
      reason: 'NotFound',
      message: `this node has deleted the output of attempt ${asked} of the task, which ended long ago`,
    });
  const stream = request.respond(200, { 'content-type': 'text/plain' });
  const gone = new AbortController();
  stream.once('close', () => gone.abort());
  const isOpen = (): boolean => query.get('follow') === 'true' && engine.isOpen(key);
  await pipeline(Readable.from(textOf({ outputs, key, lines, bytes, isOpen, signal: gone.signal })), stream).catch(() => {
    // The reader is gone.
  });
}

interface Reading {
  readonly outputs: TaskOutput;
  readonly key: string;
  /** Only so many lines and bytes at the end. */
  readonly lines: number | undefined;
  readonly bytes: number | undefined;
  /** Whether more may come. */
  readonly isOpen: () => boolean;
  readonly signal: AbortSignal;
}

async function* textOf({ outputs, key, lines, bytes, isOpen, signal }: Reading): AsyncGenerator<Buffer> {
  const file = await openWhenThere(outputs.file(key), { isOpen, signal });
  if (file === undefined) return;
  try {
    let position = await startOf(file, { lines, bytes });
    while (!signal.aborted) {
      // In this order: what is written before the end is read after it.
      const mayGrow = isOpen();
      const { bytesRead, buffer } = await file.read(Buffer.alloc(piece), 0, piece, position);
      position += bytesRead;
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      else if (!mayGrow) break;
      else await sleep(interval, undefined, { signal }).catch(() => {});
    }
    const mark = isOpen() ? '' : await outputs.truncationMark(key);
    if (mark !== '') yield Buffer.from(mark);
  } finally {
    await file.close();
  }
}

type File = Awaited<ReturnType<typeof open>>;

async function openWhenThere(path: string, { isOpen, signal }: Pick<Reading, 'isOpen' | 'signal'>): Promise<File | undefined> {
  for (;;) {
    const mayCome = isOpen();
    try {
      return await open(path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (!mayCome || signal.aborted) return undefined;
    await sleep(interval, undefined, { signal }).catch(() => {});
  }
}

async function startOf(file: File, { lines, bytes }: Pick<Reading, 'lines' | 'bytes'>): Promise<number> {
  const ofLines = lines === undefined ? 0 : await startOfLast(file, lines);
  return bytes === undefined ? ofLines : Math.max(ofLines, (await file.stat()).size - bytes);
}

/** The position at which the last lines begin. */
async function startOfLast(file: File, lines: number): Promise<number> {
  let { size: position } = await file.stat();
  if (lines === 0) return position;
  let found = 0;
  let isLast = true;
  while (position > 0) {
    const length = Math.min(piece, position);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, position - length);
    for (let index = length - 1; index >= 0; index--) {
      // The newline at the very end belongs to the last line.
      if (buffer[index] === 10 && !isLast && ++found === lines) return position - length + index + 1;
      isLast = false;
    }
    position -= length;
  }
  return 0;
}

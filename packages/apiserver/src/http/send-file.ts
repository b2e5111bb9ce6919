import { type FileHandle, open } from 'node:fs/promises';
import { isKnown } from './entity-tag.ts';
import type { AnswerStream, Exchange } from './exchange.ts';

export interface SentFile {
  readonly file: string;
  readonly type: string;
  /** Its ETag, with the quotation marks. */
  readonly tag: string;
}

export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const pieceSize = 256 << 10;
/** In bytes: the most that waits for one client. */
const mostWaiting = 1 << 20;

/** Starts to send a file, or the part of it that the client asks for. Resolves before all is sent, so that slow clients hold no place in the queues. */
export async function sendFile(exchange: Exchange, { file, type, tag }: SentFile): Promise<void> {
  exchange.header('Accept-Ranges', 'bytes');
  if (isKnown(exchange, tag)) return;
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    // Parts of another version would not fit.
    const isSame = (exchange.headers['if-range'] ?? tag) === tag;
    const range = isSame ? rangeOf(exchange.headers.range, size) : undefined;
    if (range === 'unsatisfiable') {
      exchange.header('Content-Range', `bytes */${size}`);
      await handle.close();
      return exchange.send({ code: 416, type: 'text/plain; charset=utf-8', body: `the file has ${size} bytes\n` });
    }
    const { first, last } = range ?? { first: 0, last: size - 1 };
    if (range !== undefined) exchange.header('Content-Range', `bytes ${first}-${last}/${size}`);
    const answer = exchange.stream(range === undefined ? 200 : 206, type, last - first + 1);
    void sendPieces(handle, { first, last }, { exchange, answer });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The one range that a client asks for; undefined for the whole file, which is also the answer to several ranges. */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const parts = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (parts === null) return undefined;
  const [, from = '', to = ''] = parts;
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return first > last || first >= size ? 'unsatisfiable' : { first, last };
}

async function sendPieces(
  handle: FileHandle,
  { first, last }: ByteRange,
  { exchange, answer }: { readonly exchange: Exchange; readonly answer: AnswerStream },
): Promise<void> {
  let isGone = exchange.closed;
  let resume: (() => void) | undefined;
  exchange.onClose(() => {
    isGone = true;
    resume?.();
  });
  try {
    for (let at = first; at <= last && !isGone; ) {
      const { bytesRead, buffer } = await handle.read({
        buffer: Buffer.allocUnsafeSlow(Math.min(pieceSize, last - at + 1)),
        position: at,
      });
      if (bytesRead === 0) throw new Error('the file has become shorter');
      at += bytesRead;
      answer.write(buffer.subarray(0, bytesRead));
      if (answer.pending <= mostWaiting || isGone) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      resume = resolve;
      answer.onDrain(resolve);
      await promise;
    }
    if (!isGone) answer.end();
  } catch {
    // The client sees that bytes are missing.
    answer.abort();
  } finally {
    await handle.close();
  }
}

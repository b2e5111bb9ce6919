import { setImmediate } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { type StatusError, status } from '@capstan/machinery';
import type { AnswerStream, ByteAccount, Exchange } from './exchange.ts';

export interface LongText {
  readonly type: string;
  readonly pieces: Iterable<string>;
  /** Whether making a piece can fail. All pieces are made before the response starts, then. */
  readonly mayFail: boolean;
  /** How many bytes the source of the pieces keeps in memory. */
  readonly sourceBytes: number;
}

/** How long to work in one turn, in milliseconds, for a client that is held back and for others. */
const turns = { heldBack: 0.5, usual: 1 };
/** Pieces are sent together up to this many characters… */
const chunkLength = 64 << 10;
/** …as long as they are made within a turn. The clock is read once for this many pieces that are only copied. */
const piecesPerLook = 8;
/** A client that has this many unread bytes has to read before more is made for it. */
const mostPending = 512 << 10;

/**
 * Sends a long text in pieces that are made while the client reads them, so that neither many clients nor slow ones fill the memory, and no client
 * blocks the others. Resolves when the response has started, so that a client that reads slowly holds no place.
 */
export async function sendLong(exchange: Exchange, text: LongText): Promise<void> {
  // Nobody would give back what is held for a client that has left.
  if (exchange.closed) return;
  const held = new Held(exchange);
  held.take(text.sourceBytes + 2 * mostPending);
  const chunks = chunked(text.pieces, text.mayFail ? 1 : piecesPerLook);
  const make = (): Promise<string[]> => made(chunks, exchange, held);
  const source = !text.mayFail ? chunks : await (exchange.client?.alone(make) ?? make());
  if (exchange.answered || exchange.closed) return;
  exchange.beforeAnswer?.();
  const isPacked = (exchange.headers['accept-encoding'] ?? '').includes('gzip');
  if (isPacked) {
    exchange.header('Content-Encoding', 'gzip');
    exchange.header('Vary', 'Accept-Encoding');
  }
  const gone = new AbortController();
  exchange.onClose(() => gone.abort());
  const answer = exchange.stream(200, text.type);
  const sink = isPacked ? packedSink(answer, gone.signal) : plainSink(answer);
  pump(exchange, { source: source[Symbol.iterator](), sink, gone: gone.signal }).catch(() => answer.abort());
}

/** The memory that one response holds. It is given back when the response is over. */
class Held {
  readonly #account: ByteAccount | undefined;
  #bytes = 0;

  constructor(exchange: Exchange) {
    this.#account = exchange.client?.unsent;
    exchange.onClose(() => {
      this.#account?.give(this.#bytes);
      this.#bytes = 0;
    });
  }

  take(bytes: number): void {
    if (this.#account?.take(bytes) === false) throw tooMuchUnread();
    this.#bytes += bytes;
  }
}

/** Counts what a request holds until it is over. Throws if that is too much for its tenant. */
export function holding(exchange: Exchange): (bytes: number) => void {
  let held: Held | undefined;
  return (bytes) => {
    // Nobody would give back what is held for a client that has left.
    if (!exchange.closed) (held ??= new Held(exchange)).take(bytes);
  };
}

export function tooMuchUnread(): StatusError {
  return status.tooManyRequests('too many long responses to you have not been read yet; read them, or try again later', 1);
}

/** Short pieces may take long to make, such as the rows of a table, so a chunk ends with its turn. */
function* chunked(pieces: Iterable<string>, perLook: number): Iterable<string> {
  let chunk = '';
  let left = perLook;
  let until = performance.now() + turns.heldBack;
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < chunkLength && (--left > 0 || performance.now() < until)) {
      if (left <= 0) left = perLook;
      continue;
    }
    yield chunk;
    chunk = '';
    left = perLook;
    until = performance.now() + turns.heldBack;
  }
  if (chunk !== '') yield chunk;
}

const nextTurn = (exchange: Exchange): Promise<void> => exchange.client?.turn() ?? setImmediate();
const endOfTurn = ({ client }: Exchange): number => performance.now() + (client?.isHeldBack() === true ? turns.heldBack : turns.usual);

async function made(chunks: Iterable<string>, exchange: Exchange, held: Held): Promise<string[]> {
  const all: string[] = [];
  if (exchange.closed) return all;
  let until = endOfTurn(exchange);
  for (const chunk of chunks) {
    held.take(chunk.length);
    all.push(chunk);
    if (performance.now() < until) continue;
    await nextTurn(exchange);
    if (exchange.closed) return all;
    until = endOfTurn(exchange);
  }
  return all;
}

interface Sink {
  write(chunk: string): void;
  readonly pending: number;
  /** Calls back when the client has read. */
  onDrain(listener: () => void): void;
  end(): void;
}

function plainSink(answer: AnswerStream): Sink {
  return answer;
}

function packedSink(answer: AnswerStream, gone: AbortSignal): Sink {
  const gzip: Gzip = createGzip({ level: 1 });
  gzip.on('data', (packed: Buffer) => {
    answer.write(packed);
    if (answer.pending < mostPending) return;
    gzip.pause();
    answer.onDrain(() => gzip.resume());
  });
  gzip.on('end', () => answer.end());
  gzip.on('error', () => answer.abort());
  gone.addEventListener('abort', () => gzip.destroy(), { once: true });
  return {
    write: (chunk) => void gzip.write(chunk),
    get pending() {
      return gzip.writableLength;
    },
    onDrain: (listener) => void gzip.once('drain', listener),
    end: () => void gzip.end(),
  };
}

async function pump(
  exchange: Exchange,
  { source, sink, gone }: { readonly source: Iterator<string>; readonly sink: Sink; readonly gone: AbortSignal },
): Promise<void> {
  for (;;) {
    await nextTurn(exchange);
    const until = endOfTurn(exchange);
    do {
      if (gone.aborted) return;
      const next = source.next();
      if (next.done === true) return sink.end();
      sink.write(next.value);
    } while (sink.pending < mostPending && performance.now() < until);
    if (sink.pending >= mostPending) await drained(sink, gone);
  }
}

function drained(sink: Sink, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (gone.aborted) return resolve();
    gone.addEventListener('abort', () => resolve(), { once: true });
    sink.onDrain(resolve);
  });
}

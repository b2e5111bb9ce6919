import { createGzip } from 'node:zlib';
import { nextTurn } from './next-turn.ts';

/** A compressed document: it is large, and nearly all clients accept compression. */
export interface PackedDocument {
  readonly packed: Buffer;
  /** The size before compression, in bytes. */
  readonly length: number;
}

/** For how long to work before yielding, in milliseconds. */
const turn = 1;
const chunk = 64 << 10;

/** Yields to other work when a time slice is used up. However many documents are built, one of them goes on in each turn of the event loop. */
export class TimeSlice {
  #until = performance.now() + turn;

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#until = performance.now() + turn;
  }
}

/** Builds a document from its pieces without blocking other requests. */
export async function pack(pieces: Iterable<string | Buffer>): Promise<PackedDocument> {
  const gzip = createGzip({ level: 1 });
  const done = gzip.toArray();
  // Errors are reported where the result is awaited below; until then the rejection must not count as unhandled.
  done.catch(() => undefined);
  const slice = new TimeSlice();
  let length = 0;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  const flush = async (): Promise<void> => {
    const isRoom = gzip.write(Buffer.concat(waiting));
    waiting = [];
    waitingBytes = 0;
    if (!isRoom) await new Promise((resolve) => gzip.once('drain', resolve));
  };
  try {
    for (const piece of pieces) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
      length += bytes.length;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= chunk) await flush();
      if (slice.isOver) await slice.next();
    }
    await flush();
  } catch (error) {
    gzip.destroy();
    throw error;
  }
  gzip.end();
  return { packed: Buffer.concat((await done) as Buffer[]), length };
}

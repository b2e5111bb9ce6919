import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';

/** A document, compressed: it is large, and nearly everybody takes it so. */
export interface PackedDocument {
  readonly packed: Buffer;
  /** Before it was compressed, in bytes. */
  readonly length: number;
}

/** For how long, in milliseconds, nobody else gets a turn. */
const turn = 5;
const chunk = 64 << 10;

/** Gives others a turn when one has taken long. */
export class TimeSlice {
  #until = performance.now() + turn;

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  async next(): Promise<void> {
    await setImmediate();
    this.#until = performance.now() + turn;
  }
}

/** Puts a document together from its pieces without holding anybody up. */
export async function pack(pieces: Iterable<string | Buffer>): Promise<PackedDocument> {
  const gzip = createGzip({ level: 1 });
  const done = gzip.toArray();
  // Whoever waits for it below hears of a mistake; until then nobody does.
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

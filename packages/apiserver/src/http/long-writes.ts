/** In characters or bytes: longer texts are written in several turns of the event loop. To encode and encrypt a megabyte takes milliseconds. */
export const longestWrite = 128 << 10;

/** The response of either protocol. */
interface Sink {
  readonly destroyed: boolean;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string | Buffer): unknown;
  once(event: 'drain', listener: () => void): unknown;
  destroy(): unknown;
}

interface WritingTurns {
  /** Resolves when a part of a long response may be written. */
  writingTurn(): Promise<void>;
}

/** Ends a response with its body. */
export function endWith(sink: Sink, body: string | Buffer, turns: WritingTurns): void {
  if (body.length <= longestWrite) {
    sink.end(body);
    return;
  }
  const writes = new LongWrites(sink, turns);
  writes.write(body);
  writes.end();
}

/** Writes long texts in parts, between which others may run. What is written after them follows in order. */
export class LongWrites {
  readonly #sink: Sink;
  readonly #turns: WritingTurns;
  readonly #waiting: (string | Buffer)[] = [];
  #length = 0;
  #hasEnded = false;
  readonly #afterwards: (() => void)[] = [];

  constructor(sink: Sink, turns: WritingTurns) {
    this.#sink = sink;
    this.#turns = turns;
  }

  write(chunk: string | Buffer): void {
    if (this.#waiting.length === 0 && chunk.length <= longestWrite) {
      this.#sink.write(chunk);
      return;
    }
    this.#length += chunk.length;
    // A response that cannot be written must not look complete.
    if (this.#waiting.push(chunk) === 1) this.#pump().catch(() => this.#sink.destroy());
  }

  end(): void {
    if (this.#waiting.length === 0) this.#sink.end();
    else this.#hasEnded = true;
  }

  /** The length of everything that waits here or has not been read by the client. */
  get pending(): number {
    return this.#length + this.#sink.writableLength;
  }

  /** Calls back when everything that was written has been read. */
  onDrain(listener: () => void): void {
    if (this.#waiting.length > 0) this.#afterwards.push(() => this.onDrain(listener));
    else if (this.#sink.writableNeedDrain) this.#sink.once('drain', listener);
    else queueMicrotask(listener);
  }

  async #pump(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      for (let at = 0; at < first.length && !this.#sink.destroyed; ) {
        await this.#turns.writingTurn();
        const end = endOfPart(first, at);
        const part = typeof first === 'string' ? first.slice(at, end) : first.subarray(at, end);
        this.#length -= part.length;
        if (!this.#sink.destroyed) this.#sink.write(part);
        at = end;
      }
      this.#waiting.shift();
    }
    if (this.#hasEnded && !this.#sink.destroyed) this.#sink.end();
    for (const callback of this.#afterwards.splice(0)) callback();
  }
}

/** Parts of a text must not end within a pair of surrogates, which is one character. */
function endOfPart(chunk: string | Buffer, start: number): number {
  const end = start + longestWrite;
  if (typeof chunk !== 'string' || end >= chunk.length) return Math.min(end, chunk.length);
  const last = chunk.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

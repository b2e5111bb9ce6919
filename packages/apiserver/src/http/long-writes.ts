/** In characters or bytes: longer texts are written in several turns of the event loop. To encode and encrypt a megabyte takes milliseconds. */
export const longestWrite = 128 << 10;

/** The response of either protocol. */
interface Sink {
  readonly destroyed: boolean;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  write(chunk: string | Buffer): boolean;
  end(): unknown;
  once(event: 'drain', listener: () => void): unknown;
}

/** Writes long texts in parts, between which others may run. What is written after them follows in order. */
export class LongWrites {
  readonly #sink: Sink;
  readonly #turn: () => Promise<void>;
  readonly #waiting: (string | Buffer)[] = [];
  #length = 0;
  #hasEnded = false;
  readonly #afterwards: (() => void)[] = [];

  constructor(sink: Sink, turn: () => Promise<void>) {
    this.#sink = sink;
    this.#turn = turn;
  }

  write(chunk: string | Buffer): void {
    if (this.#waiting.length === 0 && chunk.length <= longestWrite) {
      this.#sink.write(chunk);
      return;
    }
    this.#length += chunk.length;
    if (this.#waiting.push(chunk) === 1) void this.#pump();
  }

  end(): void {
    if (this.#waiting.length === 0) this.#sink.end();
    else this.#hasEnded = true;
  }

  /** What waits here, and what the client has not read yet. */
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
        await this.#turn();
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

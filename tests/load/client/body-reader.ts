type State = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'last';

/** Reads one HTTP/1.1 response from chunks of any size. */
export class BodyReader {
  readonly #done: (status: number, bytes: number) => void;
  readonly #onText: ((text: string) => void) | undefined;
  #state: State = 'head';
  #head = '';
  #status = 0;
  #bytes = 0;
  #left = 0;
  #size = '';
  /** The head announced an empty body. */
  #empty = false;

  constructor(done: (status: number, bytes: number) => void, onText?: (text: string) => void) {
    this.#done = done;
    this.#onText = onText;
  }

  finish(): void {
    this.#done(this.#status, this.#bytes);
  }

  /** True if the response is complete. */
  read(chunk: Buffer): boolean {
    let at = 0;
    if (this.#state === 'head') {
      at = this.#readHead(chunk);
      if (at === -1) return false;
      if (this.#empty) return true;
    }
    while (at < chunk.length) {
      switch (this.#state) {
        case 'length':
        case 'chunk-data':
          at = this.#take(chunk, at);
          if (this.#left > 0) return false;
          if (this.#state === 'length') return true;
          this.#state = 'chunk-end';
          this.#left = 2;
          break;
        case 'chunk-end':
        case 'last': {
          const skipped = Math.min(this.#left, chunk.length - at);
          at += skipped;
          this.#left -= skipped;
          if (this.#left > 0) return false;
          if (this.#state === 'last') return true;
          this.#state = 'chunk-size';
          break;
        }
        default: {
          const end = chunk.indexOf(10, at);
          if (end === -1) {
            this.#size += chunk.latin1Slice(at);
            return false;
          }
          this.#left = Number.parseInt(this.#size + chunk.latin1Slice(at, end), 16);
          this.#size = '';
          at = end + 1;
          this.#state = 'chunk-data';
          if (this.#left === 0) {
            // Nobody uses trailers here: only the empty line follows.
            this.#state = 'last';
            this.#left = 2;
          }
        }
      }
    }
    return false;
  }

  #take(chunk: Buffer, from: number): number {
    const to = Math.min(chunk.length, from + this.#left);
    this.#left -= to - from;
    this.#bytes += to - from;
    this.#onText?.(chunk.latin1Slice(from, to));
    return to;
  }

  /** Where the body begins, or -1 if the head is not complete yet. */
  #readHead(chunk: Buffer): number {
    const before = this.#head.length;
    this.#head += chunk.latin1Slice(0, Math.min(chunk.length, 16_384));
    const end = this.#head.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end === -1) return -1;
    this.#status = Number(this.#head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head.slice(0, end));
    this.#state = length === null ? 'chunk-size' : 'length';
    this.#left = length === null ? 0 : Number(length[1]);
    this.#empty = length !== null && this.#left === 0;
    return end + 4 - before;
  }
}

declare global {
  interface Buffer {
    latin1Slice(start?: number, end?: number): string;
  }
}

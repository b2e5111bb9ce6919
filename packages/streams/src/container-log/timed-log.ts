const newline = 10;
const space = 32;
/** Longer texts before the first space of a line are not times. */
const longestTime = 40;

/** A time of a log, so that strings compare like times. */
function keyOf(text: string): string | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (parts === null) return undefined;
  const [, second = '', fraction = '', zone] = parts;
  const at = zone === 'Z' ? undefined : Date.parse(`${second}${zone}`);
  if (Number.isNaN(at)) return undefined;
  return `${at === undefined ? second : new Date(at).toISOString().slice(0, 19)}.${fraction.padEnd(9, '0')}`;
}

/** How far a log was read. */
interface Position {
  readonly key: string;
  /** Lines with this time, including the last one. */
  lines: number;
  /** Bytes of the last line, without its time. */
  bytes: number;
  isComplete: boolean;
}

/**
 * Reads a log whose lines begin with their times, and passes the text on. After the stream broke, `resume` says from when to read again, and what was
 * passed on already is left out: no line is lost, repeated or torn.
 */
export class TimedLog {
  readonly #onText: (bytes: Buffer) => void;
  readonly #keepTimes: boolean;
  #last: Position | undefined;
  /** Where the stream before this one broke; undefined once this one is past it. */
  #broken: Position | undefined;
  /** Lines with the time of `#broken` that this stream has brought. */
  #seen = 0;
  #head: Buffer = Buffer.alloc(0);
  /** Bytes of the current line that are not passed on; infinite for a whole line. */
  #skip = 0;
  #isInLine = false;

  constructor(onText: (bytes: Buffer) => void, { keepTimes = false }: { readonly keepTimes?: boolean } = {}) {
    this.#onText = onText;
    this.#keepTimes = keepTimes;
  }

  get hasBegun(): boolean {
    return this.#last !== undefined;
  }

  /** Before another stream is read. Undefined if nothing was read yet; else its lines must begin at this time at the latest. */
  resume(): string | undefined {
    this.#head = Buffer.alloc(0);
    this.#isInLine = false;
    this.#seen = 0;
    this.#broken = this.#last && { ...this.#last };
    return this.#last && `${this.#last.key.slice(0, 19)}Z`;
  }

  push(chunk: Uint8Array): void {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    while (rest.length > 0) rest = this.#isInLine ? this.#continue(rest) : this.#begin(rest);
  }

  /** Reads the time of a line. Returns the bytes after it. */
  #begin(bytes: Buffer): Buffer {
    const all = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const [gap, end] = [all.indexOf(space), all.indexOf(newline)];
    const border = gap < 0 || (end >= 0 && end < gap) ? end : gap;
    if (border < 0 && all.length < longestTime) {
      this.#head = all;
      return Buffer.alloc(0);
    }
    this.#head = Buffer.alloc(0);
    this.#isInLine = true;
    const key = border < 0 || border > longestTime ? undefined : keyOf(all.toString('latin1', 0, border));
    if (key === undefined) {
      this.#skip = 0;
      return all;
    }
    this.#skip = this.#skipped(key);
    // An empty line has no space after its time.
    const after = all[border] === space ? border + 1 : border;
    if (this.#keepTimes && this.#skip === 0) this.#onText(all.subarray(0, after));
    return all.subarray(after);
  }

  /** How much of a line with this time was passed on before. */
  #skipped(key: string): number {
    const broken = this.#broken;
    if (broken !== undefined && key < broken.key) return Number.POSITIVE_INFINITY;
    if (broken !== undefined && key === broken.key) {
      this.#seen++;
      if (this.#seen < broken.lines) return Number.POSITIVE_INFINITY;
      if (this.#seen === broken.lines) {
        this.#broken = undefined;
        return broken.isComplete ? Number.POSITIVE_INFINITY : broken.bytes;
      }
    }
    // The rest of a torn line is gone.
    if (broken?.isComplete === false) this.#onText(Buffer.from('\n'));
    this.#broken = undefined;
    if (this.#last?.key === key) Object.assign(this.#last, { lines: this.#last.lines + 1, bytes: 0, isComplete: false });
    else this.#last = { key, lines: 1, bytes: 0, isComplete: false };
    return 0;
  }

  #continue(bytes: Buffer): Buffer {
    const end = bytes.indexOf(newline);
    const part = end < 0 ? bytes : bytes.subarray(0, end + 1);
    const isWholeSkipped = this.#skip === Number.POSITIVE_INFINITY;
    const fresh = isWholeSkipped ? Buffer.alloc(0) : part.subarray(Math.min(this.#skip, part.length));
    this.#skip -= Math.min(this.#skip, isWholeSkipped ? 0 : part.length);
    if (fresh.length > 0) {
      this.#onText(fresh);
      if (this.#last !== undefined) this.#last.bytes += fresh.length;
    }
    if (end < 0) return Buffer.alloc(0);
    this.#isInLine = false;
    if (!isWholeSkipped && this.#last !== undefined) this.#last.isComplete = true;
    return bytes.subarray(end + 1);
  }
}

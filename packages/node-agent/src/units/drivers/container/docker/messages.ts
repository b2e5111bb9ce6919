/** One message of Docker's log: a line, or a part of a long one. */
export interface Message {
  readonly stream: 'stdout' | 'stderr';
  /** RFC 3339 in UTC with nanoseconds, so times can be compared as text. */
  readonly time: string;
  readonly text: Buffer;
  /** Whether the line goes on in the next message. */
  readonly isPartial: boolean;
}

/** Bytes in front of every message: the stream, three that are empty, and the length. */
const headSize = 8;
/** In bytes: Docker splits longer lines. All parts have the time of the first one. */
const longestPart = 16_384;

/** Reads messages with times from an answer of Docker. Returns those that are complete; the rest waits for the next piece. */
export class MessageReader {
  readonly #tty: boolean;
  #rest: Buffer = Buffer.alloc(0);

  constructor(tty: boolean) {
    this.#tty = tty;
  }

  read(bytes: Buffer): Message[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    return this.#tty ? this.#lines() : this.#frames();
  }

  #frames(): Message[] {
    const found: Message[] = [];
    while (this.#rest.length >= headSize) {
      const end = headSize + this.#rest.readUInt32BE(4);
      if (this.#rest.length < end) break;
      found.push(...messageOf(this.#rest[0] === 2 ? 'stderr' : 'stdout', this.#rest.subarray(headSize, end)));
      this.#rest = this.#rest.subarray(end);
    }
    return found;
  }

  /** Output of a terminal has no frames. Only their time separates the parts of a line. */
  #lines(): Message[] {
    const found: Message[] = [];
    for (let end = this.#rest.indexOf(10); end >= 0; end = this.#rest.indexOf(10)) {
      let line = this.#rest.subarray(0, end + 1);
      this.#rest = this.#rest.subarray(end + 1);
      const head = line.subarray(0, line.indexOf(32) + 1);
      while (line.length > head.length + longestPart && line.subarray(head.length + longestPart).indexOf(head) === 0) {
        found.push(...messageOf('stdout', line.subarray(0, head.length + longestPart)));
        line = line.subarray(head.length + longestPart);
      }
      found.push(...messageOf('stdout', line));
    }
    return found;
  }
}

function messageOf(stream: Message['stream'], bytes: Buffer): Message[] {
  const space = bytes.indexOf(32);
  if (space < 0) return [];
  const isPartial = bytes.at(-1) !== 10;
  const text = bytes.subarray(space + 1, isPartial ? bytes.length : -1);
  return [{ stream, time: bytes.toString('latin1', 0, space), text, isPartial }];
}

/** As a line of Kubernetes' CRI log format. */
export function lineOf({ stream, time, text, isPartial }: Message): Buffer {
  return Buffer.concat([Buffer.from(`${time} ${stream} ${isPartial ? 'P' : 'F'} `), text, Buffer.from('\n')]);
}

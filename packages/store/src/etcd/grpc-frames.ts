/* gRPC prefixes each message with five bytes: a compression flag and the length. */

const prefixBytes = 5;

export function frameMessage(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, prefixBytes);
  return frame;
}

/** Reassembles messages from the chunks in which they arrive. */
export class FrameReader {
  readonly #give: (message: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  /** The size of the current frame in bytes, once its prefix is known. */
  #expected = prefixBytes;

  constructor(give: (message: Buffer) => void) {
    this.#give = give;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= this.#expected) {
      let bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      const expected = prefixBytes + bytes.readUInt32BE(1);
      if (bytes[0] !== 0) throw new Error('etcd sent a compressed message, although compression was not requested');
      if (bytes.length >= expected) {
        const message = bytes.subarray(prefixBytes, expected);
        bytes = bytes.subarray(expected);
        this.#keep(bytes, prefixBytes);
        this.#give(message);
      } else this.#keep(bytes, expected);
    }
  }

  #keep(rest: Buffer, expected: number): void {
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    this.#expected = expected;
  }
}

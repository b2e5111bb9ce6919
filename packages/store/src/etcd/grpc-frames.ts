/*
 * gRPC puts each message behind five bytes: a flag that says whether it is compressed, and its length.
 */

const prefixBytes = 5;

export function frameMessage(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, prefixBytes);
  return frame;
}

/** Puts messages together out of the pieces in which they arrive. */
export class FrameReader {
  readonly #give: (message: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  /** How many bytes the frame at hand has, once its prefix is known. */
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
      if (bytes[0] !== 0) throw new Error('etcd sent a compressed message, which was not asked for');
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

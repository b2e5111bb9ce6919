import { protocolError } from '../error.ts';

/** Reads the data types of RFC 4251, section 5, from one message. Throws `SshError` if the message is too short. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.bytes(1)[0]!;
  }

  boolean(): boolean {
    return this.byte() !== 0;
  }

  uint32(): number {
    return this.bytes(4).readUInt32BE();
  }

  /** A string of bytes, which shares memory with the message. */
  string(): Buffer {
    return this.bytes(this.uint32());
  }

  text(): string {
    return this.string().toString('utf8');
  }

  names(): string[] {
    const text = this.string().toString('latin1');
    return text === '' ? [] : text.split(',');
  }

  bytes(length: number): Buffer {
    if (length > this.#bytes.length - this.#at)
      throw protocolError(`expected ${length} more bytes in message ${this.#bytes[0]}, found ${this.#bytes.length - this.#at}`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Fails if anything is left. */
  end(): void {
    const left = this.#bytes.length - this.#at;
    if (left > 0) throw protocolError(`message ${this.#bytes[0]} has ${left} bytes after its end`);
  }
}

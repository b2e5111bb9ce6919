import { randomFillSync } from 'node:crypto';
import { protocolError } from '../error.ts';
import { type PacketCipher, tagLength } from './cipher.ts';

/** Longer packets end the session. RFC 4253 asks for 35,000; channels promise less than that. */
export const longestPacket = 64 << 10;
const leastPadding = 4;
const lengthBytes = 4;

/** Cuts a stream of bytes into the payloads of packets. */
export class PacketReader {
  #waiting: Buffer = Buffer.alloc(0);
  #cipher: PacketCipher | undefined;
  #sequence = 0;

  /** The number of the packet that `next` returns next. */
  get sequence(): number {
    return this.#sequence;
  }

  push(chunk: Buffer): void {
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
  }

  /** The payload of the next packet; undefined until all of it has arrived. */
  next(): Buffer | undefined {
    if (this.#waiting.length < lengthBytes) return undefined;
    const head = this.#waiting.subarray(0, lengthBytes);
    const length = head.readUInt32BE();
    const blocks = this.#cipher === undefined ? length + lengthBytes : length;
    if (length > longestPacket || length < 1 + leastPadding || blocks % (this.#cipher === undefined ? 8 : 16) !== 0)
      throw protocolError(`expected a packet of at most ${longestPacket} bytes in whole blocks, found one of ${length}`);
    const total = lengthBytes + length + (this.#cipher === undefined ? 0 : tagLength);
    if (this.#waiting.length < total) return undefined;
    const body = this.#waiting.subarray(lengthBytes, total);
    const packet = this.#cipher === undefined ? body : this.#cipher.open(head, body);
    this.#waiting = this.#waiting.subarray(total);
    this.#sequence = (this.#sequence + 1) >>> 0;
    const padding = packet[0]!;
    if (padding < leastPadding || padding + 1 >= length)
      throw protocolError(`a packet of ${length} bytes cannot have ${padding} bytes of padding and a message`);
    return packet.subarray(1, length - padding);
  }

  /** Packets after this one use the cipher. */
  change(cipher: PacketCipher, { resetSequence }: { readonly resetSequence: boolean }): void {
    this.#cipher = cipher;
    if (resetSequence) this.#sequence = 0;
  }
}

/** Wraps payloads into packets. */
export class PacketWriter {
  #cipher: PacketCipher | undefined;

  packet(payload: Buffer): Buffer {
    const block = this.#cipher === undefined ? 8 : 16;
    const counted = 1 + payload.length + (this.#cipher === undefined ? lengthBytes : 0);
    let padding = block - (counted % block);
    if (padding < leastPadding) padding += block;
    const whole = Buffer.allocUnsafe(lengthBytes + 1 + payload.length + padding);
    whole.writeUInt32BE(whole.length - lengthBytes);
    whole[lengthBytes] = padding;
    payload.copy(whole, lengthBytes + 1);
    randomFillSync(whole, lengthBytes + 1 + payload.length);
    if (this.#cipher === undefined) return whole;
    const head = whole.subarray(0, lengthBytes);
    return Buffer.concat([head, ...this.#cipher.seal(head, whole.subarray(lengthBytes))]);
  }

  change(cipher: PacketCipher): void {
    this.#cipher = cipher;
  }
}
